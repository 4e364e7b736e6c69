/* casts: two files with a struct of one name that differ, and one that is the same in both (a header's, in a
 * way); a third file only declares them. The heap has one of each. Prints their addresses, and waits for a line. */
#include <stdio.h>
#include <stdlib.h>

struct shared {
	long first, second;
};

#ifdef OPAQUE
struct record *volatile casts_opaque;
struct shared *volatile casts_opaque_shared;
struct nowhere *volatile casts_nowhere = (void *)&casts_opaque;
#elif defined OTHER
struct record {
	char name[24];
	volatile long count;
};
typedef struct record record_t;

void *volatile casts_other;
static void *volatile slot;

void other_make(void)
{
	casts_other = slot = calloc(1, sizeof(struct record));
}

void other_bump(void)
{
	record_t *record = slot;

	for (int i = 0; i < 4; i++)
		record->count = i;
}
#else
struct record {
	volatile long count;
	volatile long other;
};
typedef struct record record_t;

extern void *volatile casts_other;
void *volatile casts_first;
static void *volatile slot;
struct shared *volatile casts_shared;
extern struct record *volatile casts_opaque;
extern struct shared *volatile casts_opaque_shared;
void other_make(void), other_bump(void);

int main(void)
{
	record_t *record = calloc(1, sizeof(*record));

	slot = casts_first = record;
	casts_opaque = record;
	casts_opaque_shared = casts_shared = calloc(1, sizeof(*casts_shared));
	other_make();
	printf("head %p\nready\n", casts_other);
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < 3; i++)
		record->count = i;
	for (int i = 0; i < 5; i++)
		casts_shared->second = i;
	other_bump();
	return slot == NULL;
}
#endif
