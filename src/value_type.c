/* value_type.c owns the description of a value's type as plain data. Where it comes from it
 * does not know. */
#include "watchprof/value_type.h"

#include "watchprof/util.h"

#include <stdlib.h>

void value_type_fini(struct value_type *type)
{
	for (size_t i = 0; i < type->n_names; i++)
		free(type->names[i].name);
	free(type->names);
	free(type->name);
	*type = (struct value_type){0};
}

struct value_type value_type_copy(const struct value_type *type)
{
	struct value_type copy = *type;

	copy.name = type->name ? text_copy(type->name) : NULL;
	copy.names = type->n_names ? mem_new(type->n_names, sizeof(*copy.names)) : NULL;
	for (size_t i = 0; i < type->n_names; i++)
		copy.names[i] =
			(struct value_name){text_copy(type->names[i].name), type->names[i].value};
	return copy;
}
