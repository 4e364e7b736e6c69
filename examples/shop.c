/* shop: the example that scripts/demo watches. Two customers buy, a supplier restocks, an
 * auditor looks; all touch the same two globals, and one of them has a bug: who makes the stock
 * negative?
 *
 *     watchprof -e stock:w -e sold -- examples/shop          (ends by itself)
 *     examples/shop forever & watchprof -p $! -e stock       (for the live screen) */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 500

int stock = 100;
long sold;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_endless;
static int lowest;

__attribute__((noinline)) static void take_from_stock(int amount)
{
	stock -= amount;
}

__attribute__((noinline)) static void buy(int amount)
{
	pthread_mutex_lock(&lock);
	if (stock >= amount) {
		take_from_stock(amount);
		sold += amount;
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void buy_in_a_hurry(int amount)
{
	take_from_stock(amount); /* the bug: neither checked nor locked */
	sold += amount;
}

__attribute__((noinline)) static void restock(int amount)
{
	pthread_mutex_lock(&lock);
	stock += amount;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void audit(void)
{
	if (stock < lowest)
		lowest = stock;
}

/* A pause that lets a watcher see a steady rate in the endless mode. */
static bool next_round(int *round)
{
	if (is_endless)
		usleep(1000);
	return is_endless || (*round)++ < ROUNDS;
}

static void *customer(void *argument)
{
	for (int round = 0; next_round(&round);)
		buy(1);
	return argument;
}

static void *hasty_customer(void *argument)
{
	for (int round = 0; next_round(&round);)
		buy_in_a_hurry(1);
	return argument;
}

static void *supplier(void *argument)
{
	for (int round = 0; next_round(&round);)
		restock(1);
	return argument;
}

static void *auditor(void *argument)
{
	for (int round = 0; next_round(&round);)
		audit();
	return argument;
}

int main(int argc, char **argv)
{
	static void *(*const people[])(void *) = {customer, hasty_customer, supplier, auditor};
	pthread_t threads[sizeof(people) / sizeof(people[0])];

	is_endless = argc > 1 && strcmp(argv[1], "forever") == 0;
	for (size_t i = 0; i < sizeof(people) / sizeof(people[0]); i++)
		pthread_create(&threads[i], NULL, people[i], NULL);
	for (size_t i = 0; i < sizeof(people) / sizeof(people[0]); i++)
		pthread_join(threads[i], NULL);
	printf("shop: %d in stock, %ld sold, lowest stock %d\n", stock, sold, lowest);
	return 0;
}
