// expr_go: variables of Go: an atomic bumped by four goroutines, structs, a slice. Built without
// optimization.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

type node struct {
	next *node
	val  int32
	arr  [4]uint16
}

var counter int64
var root node
var head = &root
var list []int32
var hist [3]node

//go:noinline
func bump() {
	atomic.AddInt64(&counter, 1)
}

func main() {
	list = make([]int32, 8)
	root.next = &node{val: 7}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var all sync.WaitGroup
	for t := 0; t < 4; t++ {
		all.Add(1)
		go func() {
			for i := 0; i < 25; i++ {
				bump()
			}
			all.Done()
		}()
	}
	all.Wait()
	for i := 0; i < 3; i++ {
		root.val = int32(i)
	}
	for i := 0; i < 4; i++ {
		hist[1].arr[2] = uint16(i)
	}
	for i := 0; i < 5; i++ {
		list[3] = int32(i)
	}
	for i := 0; i < 6; i++ {
		head.next.val = int32(i)
	}
}
