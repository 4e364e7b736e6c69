/* column.c owns the texts of columns that several views have: those of the reports (table.h), and the screen's own. */
#include "model_private.h"

#include <stdlib.h>

const char *column_name(const struct view_column *column)
{
	return column->shared ? column->shared->name : column->name;
}

bool column_is_number(const struct view_column *column)
{
	return column->shared ? column->shared->is_number : column->is_number;
}

char *column_bar(const struct model *model, const struct row *row)
{
	return cell_bar(row->share, BAR_WIDTH, model->is_utf8);
}

char *column_rate(const struct model *model, const struct row *row)
{
	double rate;

	return rates_get(&model->rates, model->view->key(row), &rate) ? text_format("%.0f/s", rate) : text_copy("-");
}

char *column_place(const struct model *model, const struct row *row)
{
	return model_place(model, row->loc);
}

/* What the reports have, in what the screen can show; a module without its directory. */
static char *shared_text(const struct model *model, const struct row *row, enum column_id id)
{
	if (id == COLUMN_FUNCTION)
		return model_function(model, row);
	return id == COLUMN_MODULE ? model_module(model, row->loc) : table_people_cell(id, row, NULL);
}

void row_fill(const struct model *model, const struct row *row, struct view_row *out)
{
	for (size_t c = 0; c < model->view->n_columns; c++) {
		const struct view_column *column = &model->view->columns[c];

		if (out->cells[c])
			continue;
		out->cells[c] = column->text ? column->text(model, row)
			: column->shared     ? shared_text(model, row, (enum column_id)(column->shared - table_columns))
					     : text_copy("");
	}
	out->raw = row;
	model_row_place(out, row->loc);
}
