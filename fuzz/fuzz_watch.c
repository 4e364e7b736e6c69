/* fuzz_watch takes bytes as the text of a watch. What is accepted must be the same again when its own text is
 * parsed, and what is refused must say why. */
#include "fuzz.h"
#include "watchprof/util.h"
#include "watchprof/watch.h"

#include <string.h>

static void same(const struct watch *one, const struct watch *two)
{
	must(strcmp(one->text, two->text) == 0);
	must(!one->name == !two->name && (!one->name || strcmp(one->name, two->name) == 0));
	must(one->n_steps == two->n_steps && one->offset == two->offset && one->address == two->address);
	must(one->length == two->length && one->access == two->access);
}

static void accepted(struct watch *watch)
{
	struct watch again, copy = watch_copy(watch);
	struct err err;
	size_t stem = watch_stem(watch->text);

	must(stem <= strlen(watch->text));
	must(watch_parse(watch->text, &again, &err) == 0);
	same(watch, &again);
	same(watch, &copy);
	while (copy.name && watch_name_shorten(&copy))
		must(copy.name && copy.n_steps > watch->n_steps);
	watch_fini(&again);
	watch_fini(&copy);
	watch_fini(watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = mem_new(size + 1, 1);
	struct watch watch;
	struct err err = {0};

	if (size)
		memcpy(text, bytes, size);
	if (watch_parse(text, &watch, &err) == 0)
		accepted(&watch);
	else
		must(err.text[0] != 0);
	watch_stem(text);
	free(text);
	return 0;
}
