/* symbols_expr_private: types of debug information, for symbols_expr*.c. */
#ifndef WATCHPROF_SYMBOLS_EXPR_PRIVATE_H
#define WATCHPROF_SYMBOLS_EXPR_PRIVATE_H

#include "symbols_private.h"

/* The type that a DIE has by DW_AT_type; void where it has none. */
struct type type_of(Dwarf_Die *die);

/* Take off typedefs and qualifiers; of a mere declaration find the definition, in this module
 * or another one. */
void type_peel(struct symbols *symbols, Dwfl_Module *module, struct type *type);

/* The DW_TAG_ of a peeled type; 0: void. */
unsigned type_tag(const struct type *type);

/* What a peeled pointer or reference points at. */
struct type type_pointee(struct type *type);

/* Bytes; false: not known. */
bool type_size(struct type *type, uint64_t *size);

/* As it is written in C, owned by the caller. */
char *type_name(struct type *type);

/* The type as plain data. The caller fills in bit-fields. */
void type_describe(
	struct symbols *symbols, Dwfl_Module *module, struct type type, struct value_type *out);

enum bound {
	BOUND_KNOWN,
	BOUND_OPEN,   /* a flexible array */
	BOUND_VARIES, /* known when the program runs */
	BOUND_NONE,   /* no array */
};

/* How many elements a peeled array has. */
enum bound type_bound(struct type *type, uint64_t *count);

/* The type of an element. */
struct type type_element(struct type *type);

enum member_result {
	MEMBER_NONE,
	MEMBER_FOUND,
	MEMBER_STATIC, /* of the class, not of the object */
	MEMBER_SEVERAL, /* more than one base has it */
	MEMBER_VARIES, /* where it lies, only the program knows (virtual bases) */
};

struct member {
	Dwarf_Die die;
	uint64_t offset; /* bytes from the start of the object; of a bit-field without its bits */
	bool is_last;    /* nothing follows it in its struct */
};

/* Find a member by name in a peeled struct, class or union: its own, those of anonymous members
 * in it, then those of its bases. BASE::NAME looks in that base alone. */
enum member_result type_member(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	const char *name, struct member *member);

/* How many bits a bit-field has, and where the lowest one is from member->offset on; 0: it is none. The attributes
 * are those of DWARF 4 and 5, or of DWARF 2 and 3 (section 5.5.6 there, from the highest bit). */
unsigned member_bits(struct member *member, uint64_t *offset);

/* Call take() for each member of a peeled struct, class or union that has a name, its own first, then those of its bases; members of
 * anonymous ones are its own. name: what leads to it alone from the whole; base: of which class it is, where
 * that is another one, or NULL; is_static: it is a variable, and member has only its DIE. */
void type_members(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	void (*take)(void *context, struct member *member, const char *name, const char *base, bool is_static), void *context);

/* Keep those names of members that are close to the one asked for; with all, any. */
void type_members_near(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	struct asked *asked, bool all);

/* Is it of C, where struct is written before the name of one? */
bool type_is_c(Dwarf_Die *die);

/* Where the type of a cast is searched: in module first, then in all that fit the qualifier of the watch. */
struct cast {
	struct symbols *symbols;
	Dwfl_Module *module;
	const char *qualifier; /* NULL: any module */
	const char *file;      /* that it is declared or used in; NULL: any */
	const char *watch;     /* for messages */
};

/* Find the type that is written like this; void is one, with a NULL module or the cast's. -1: there is none,
 * or there are several that differ. */
int type_parse(const struct cast *cast, const char *text, struct type *type, Dwfl_Module **found, struct err *err);

/* Of a type that is a mere declaration find the definition: in the cast's module, else in all. -1: there are several
 * that differ. Where there is none, or it is no declaration, nothing changes. */
int type_define(const struct cast *cast, struct type *type, Dwfl_Module **module, struct err *err);

/* The name of a DIE with its scopes; owned by the caller. NULL: it has none. */
char *type_qualified(Dwarf_Die *die);

/* A number that is constant; false: there is none, or the program computes it. */
bool die_number(Dwarf_Die *die, unsigned name, uint64_t *number);

#endif
