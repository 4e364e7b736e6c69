/* header.c owns the lines above the rows: the target, the run, and the watches. */
#include "model_private.h"
#include "watchprof/report_values.h"
#include "watchprof/value_type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_MAX 8 /* watches that have a line beside the current one */

void header_clear(struct model *model)
{
	for (size_t i = 0; i < model->n_header; i++)
		free(model->header[i]);
	model->n_header = 0;
}

/* A line, which is taken; the lower its rank, the longer it stays on a shrinking screen. */
static void put(struct model *model, unsigned rank, enum line_style style, char *text)
{
	size_t i = model->n_header;

	if (i == HEADER_MAX) {
		free(text);
		return;
	}
	model->header[i] = cell_safe(text, model->is_utf8);
	model->header_style[i] = style;
	model->header_rank[i] = rank;
	model->n_header++;
	free(text);
}

static void watch_sample(struct watch_sample *sample, uint64_t hits, double seconds, bool is_due)
{
	if (is_due) {
		sample->has_rate = seconds > 0 && hits >= sample->hits;
		sample->rate = sample->has_rate ? (double)(hits - sample->hits) / seconds : 0;
		if (hits < sample->hits)
			sample->n_history = 0; /* the counts were set to zero */
		if (sample->has_rate && sample->n_history == HISTORY)
			memmove(sample->history, sample->history + 1, --sample->n_history * sizeof(*sample->history));
		if (sample->has_rate)
			sample->history[sample->n_history++] = sample->rate;
		sample->hits = hits;
	}
}

static void watches_sample(struct model *model, const struct report *report, uint64_t now_ns)
{
	bool is_due = !model->rate_ns || now_ns - model->rate_ns >= RATE_NS;
	double seconds = model->rate_ns ? (double)(now_ns - model->rate_ns) / NS_PER_S : 0;
	struct row totals[WATCHES_MAX];

	profile_totals(report->profile, totals);
	for (unsigned i = 0; i < model->n_watches; i++) {
		watch_sample(&model->watches[i], profile_count(report->profile, i).hits, seconds, is_due);
		model->watches[i].totals = totals[i];
	}
	if (!is_due)
		return;
	model->stopped_share = -1;
	if (seconds > 0 && report->threads_now && report->stopped_ns >= model->stopped_ns)
		model->stopped_share = (double)(report->stopped_ns - model->stopped_ns) / NS_PER_S / seconds /
			(double)report->threads_now;
	model->stopped_ns = report->stopped_ns;
	model->rate_ns = now_ns;
}

static void title_put(struct model *model, const struct report *report)
{
	put(model, 0, LINE_TITLE,
		text_format("watchprof: %s (pid %d)", report->command ? report->command : "?", report->pid));
}

static void run_put(struct model *model, const struct report *report)
{
	double seconds = (double)report->duration_ns / NS_PER_S;
	char *stopped = model->stopped_share >= 0
		? text_format(", threads stopped %.1f%% of the time", model->stopped_share * 100)
		: text_copy("");

	put(model, 3, LINE_PLAIN,
		text_format("%s, engine %s, %" PRIu64 " threads armed, %" PRIu64 " hits, %.0f s%s%s", report->end,
			report->engine, report->threads_armed, profile_hits(report->profile), seconds, stopped,
			report->is_tracing ? ", TRACED" : ""));
	free(stopped);
}

/* One watch in one line. */
static char *watch_line(const struct model *model, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	uint64_t filtered = report->values ? report->values[i].filtered : 0;
	const struct watch_sample *sample = &model->watches[i];
	char *graph = cell_graph(sample->history, sample->n_history, model->is_utf8);
	char *rate = sample->has_rate ? text_format("%.0f/s", sample->rate) : text_copy("-/s");
	char *reads = table_bound(sample->totals.reads, sample->totals.reads_unknown, sample->totals.hits);
	char *writes = table_bound(sample->totals.writes, sample->totals.writes_unknown, sample->totals.hits);
	bool is_armed = strcmp(watch->state, "armed") == 0;
	char *others = filtered ? text_format("  filtered %" PRIu64, filtered) : text_copy("");
	char *line = text_format("%s %u %s  %" PRIu64 " hits %s %s r %s w %s%s%s%s%s", i == model->watch ? ">" : " ", i + 1,
		watch->text, profile_count(report->profile, i).hits, rate, graph, reads, writes,
		watch->compared ? watch->changed ? "  changed" : "  unchanged" : "", is_armed ? "" : "  ",
		is_armed ? "" : watch->state, others);

	free(others);
	free(graph);
	free(rate);
	free(reads);
	free(writes);
	return line;
}

static void current_put(struct model *model, const struct report *report)
{
	const struct report_watch *watch = &report->watches[model->watch];
	struct watch_count count = profile_count(report->profile, model->watch);
	char address[REPORT_ADDRESS_LEN];
	const struct value_type *known = report->values ? report->values[model->watch].type : NULL;
	const char *type = known ? known->name : NULL;
	char *sampled = watch->armed_share > 0 && watch->armed_share < 1
		? text_format("  A SAMPLE: armed %.0f%% of the time", watch->armed_share * 100)
		: text_copy("");

	put(model, 5, LINE_PLAIN,
		watch->len ? text_format("    watch %u of %zu: %s/%" PRIu64 " %s%s%s  %s%s%s%s%s", model->watch + 1, report->n_watches,
				     report_address(watch, address), watch->len, watch->access, type ? "  " : "", type ? type : "", watch->object ? watch->object : "",
				     model->filter ? "  FILTER " : "", model->filter ? model->filter : "",
				     count.overrun ? "  OVERRUN" : "", sampled)
			   : text_format("    watch %u of %zu: %s  not armed", model->watch + 1, report->n_watches, watch->access));
	free(sampled);
}

/* What the watched bytes hold, and who wrote them. */
static void values_put(struct model *model, const struct report *report)
{
	const struct report_values *values = report->values ? &report->values[model->watch] : NULL;
	const struct value_stats *stats = values ? &values->stats : NULL;
	char *current;

	if (!values || !values->is_known)
		return;
	current = report_value(values, &stats->current);
	if (stats->last.time_ns)
		put(model, 4, LINE_PLAIN,
			text_format("    value %s  changed %" PRIu64 ", same %" PRIu64 "%s; last by %s, thread %d, at %.3f s", current,
				stats->changed, stats->silent, stats->unseen ? ", changed by others" : "",
				values->writer ? values->writer : "?", stats->last.tid, (double)values->written_ns / NS_PER_S));
	else
		put(model, 4, LINE_PLAIN, text_format("    value %s", current));
	free(current);
}

static void watches_put(struct model *model, const struct report *report)
{
	unsigned n = model->n_watches < OTHERS_MAX ? model->n_watches : OTHERS_MAX;
	unsigned begin = model->watch >= n && n ? model->watch - n + 1 : 0;

	for (unsigned i = begin; i < begin + n; i++) {
		put(model, i == model->watch ? 1 : 7 + i, LINE_PLAIN, watch_line(model, report, i));
		if (i == model->watch) {
			current_put(model, report);
			values_put(model, report);
		}
	}
}

static void alert_put(struct model *model, const struct report *report)
{
	if (report->lost || profile_overrun(report->profile))
		put(model, 2, LINE_ALERT,
			text_format("LOST %" PRIu64 "  OVERRUN %" PRIu64, report->lost, profile_overrun(report->profile)));
	else if (report->n_warnings)
		put(model, 6, LINE_ALERT, text_copy(report->warnings[report->n_warnings - 1]));
}

void header_sample(struct model *model, const struct report *report, uint64_t now_ns)
{
	header_clear(model);
	watches_sample(model, report, now_ns);
	title_put(model, report);
	run_put(model, report);
	watches_put(model, report);
	alert_put(model, report);
}
