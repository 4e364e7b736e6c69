/* locks: four threads contend for locks of every kind that lie in one page with what they guard (struct shared
 * box, one page), and print the sums, which are the same in every run. argv[1]: rounds; argv[2]: only this kind. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

struct shared {
	long count;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
	sem_t semaphore;
	int turn;
	pthread_t threads[THREADS];
	char rest[4096 - 512];
};

struct shared box __attribute__((aligned(4096)));
static long rounds = 100;

static void *mutex_run(void *number)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&box.mutex);
		box.count++;
		pthread_mutex_unlock(&box.mutex);
	}
	return number;
}

/* Each in turn: all but one sleep. */
static void *cond_run(void *number)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&box.mutex);
		while (box.turn != (int)(long)number)
			pthread_cond_wait(&box.cond, &box.mutex);
		box.turn = (box.turn + 1) % THREADS;
		box.count++;
		pthread_cond_broadcast(&box.cond);
		pthread_mutex_unlock(&box.mutex);
	}
	return number;
}

static void *rwlock_run(void *number)
{
	long seen = 0;

	for (long i = 0; i < rounds; i++) {
		pthread_rwlock_rdlock(&box.rwlock);
		seen += box.count >= 0;
		pthread_rwlock_unlock(&box.rwlock);
		pthread_rwlock_wrlock(&box.rwlock);
		box.count++;
		pthread_rwlock_unlock(&box.rwlock);
	}
	return seen == rounds ? number : NULL;
}

static void *barrier_run(void *number)
{
	for (long i = 0; i < rounds / 10; i++) {
		if (pthread_barrier_wait(&box.barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			box.count++;
	}
	return number;
}

static void *semaphore_run(void *number)
{
	for (long i = 0; i < rounds; i++) {
		sem_wait(&box.semaphore);
		box.count++;
		sem_post(&box.semaphore);
	}
	return number;
}

static void *spin_run(void *number)
{
	for (long i = 0; i < rounds; i++) {
		pthread_spin_lock(&box.spin);
		box.count++;
		pthread_spin_unlock(&box.spin);
	}
	return number;
}

/* The owner dies with the lock; the next one is told. */
static void *robust_run(void *number)
{
	if (pthread_mutex_lock(&box.mutex))
		pthread_mutex_consistent(&box.mutex), box.count += 1000;
	box.count++;
	return number;
}

static void mutex_make(int protocol, int is_shared, int is_robust, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setpshared(&attr, is_shared);
	pthread_mutexattr_setrobust(&attr, is_robust);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&box.mutex, &attr);
}

static void plain_make(void)
{
	mutex_make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_NORMAL);
}

static void shared_make(void)
{
	mutex_make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_RECURSIVE);
}

static void inherit_make(void)
{
	mutex_make(PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_NORMAL);
}

static void robust_make(void)
{
	mutex_make(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_NORMAL);
}

static void robust_inherit_make(void)
{
	mutex_make(PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_NORMAL);
}

static void cond_make(void)
{
	plain_make();
	pthread_cond_init(&box.cond, NULL);
}

static void rwlock_make(void)
{
	pthread_rwlock_init(&box.rwlock, NULL);
}

static void barrier_make(void)
{
	pthread_barrier_init(&box.barrier, NULL, THREADS);
}

static void semaphore_make(void)
{
	sem_init(&box.semaphore, 0, 1);
}

static void spin_make(void)
{
	pthread_spin_init(&box.spin, 0);
}

static const struct kind {
	const char *name;
	void (*make)(void);
	void *(*run)(void *);
} kinds[] = {
	{"mutex", plain_make, mutex_run},
	{"shared", shared_make, mutex_run},
	{"inherit", inherit_make, mutex_run},
	{"cond", cond_make, cond_run},
	{"rwlock", rwlock_make, rwlock_run},
	{"barrier", barrier_make, barrier_run},
	{"semaphore", semaphore_make, semaphore_run},
	{"spin", spin_make, spin_run},
	{"robust", robust_make, robust_run},
	{"robust-inherit", robust_inherit_make, robust_run},
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atol(argv[1]);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		long ended = 0;

		if (argc > 2 && strcmp(argv[2], kinds[k].name))
			continue;
		memset(&box, 0, sizeof(box));
		kinds[k].make();
		for (long i = 0; i < THREADS; i++)
			pthread_create(&box.threads[i], NULL, kinds[k].run, (void *)i);
		for (long i = 0; i < THREADS; i++) {
			void *result;

			pthread_join(box.threads[i], &result);
			ended += (long)result;
		}
		printf("%s: %ld, %ld\n", kinds[k].name, box.count, ended);
		fflush(stdout);
	}
	return 0;
}
