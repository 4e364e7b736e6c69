// expr_rs: statics of Rust: an atomic, tuples, structs, one of a module and one of a function. Each is
// written a number of times of its own. Built without optimization.
use std::sync::atomic::{AtomicU64, Ordering};

pub static COUNTER: AtomicU64 = AtomicU64::new(0);

struct Point {
    x: i32,
    y: [u16; 4],
    t: (u8, u64),
}

#[allow(dead_code)]
enum Shape {
    Line(u32),
    Dot { at: u8 },
}

static mut PAIR: (u32, u8) = (1, 2);
static mut POINT: Point = Point { x: 0, y: [0; 4], t: (0, 0) };
static mut SHAPE: Shape = Shape::Line(3);

mod inner {
    pub static mut DEEP: i64 = 5;
}

fn count() {
    static mut CALLS: u32 = 0;
    unsafe { CALLS = 1 }
}

#[inline(never)]
fn bump() {
    COUNTER.fetch_add(1, Ordering::SeqCst);
}

fn main() {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    for _ in 0..100 {
        bump();
    }
    unsafe {
        for i in 0..3 {
            PAIR.1 = i;
        }
        for i in 0..4 {
            POINT.x = i;
        }
        for i in 0..5 {
            POINT.y[2] = i;
        }
        for i in 0..6 {
            POINT.t.1 = i;
        }
        for i in 0..7 {
            inner::DEEP = i;
        }
        for _ in 0..8 {
            count();
        }
        for i in 0..9 {
            SHAPE = Shape::Line(i);
        }
    }
}
