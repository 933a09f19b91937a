import {ago, any, app, button, code, duration, empty, get, h, name, number, part, percent, pill, plural, post, said, sections, short, table, when} from "./core.js";
import {curve, intervals} from "./plots.js";

const METRICS = ["ndcg", "recall", "mrr"];

export async function open() {
	const {params, docs} = app;
	const [sets, all] = await Promise.all([any("eval/sets"), any("eval/runs", {limit: 200})]);
	const mine = all.filter((run) => run.collection === docs), set = params.get("s") ?? mine[0]?.eval_set ?? sets[0]?.name;
	return sections({Runs: () => runs(sets, set, mine.filter((run) => run.eval_set === set).slice(0, 12)), "Answered badly": () => bad(set ?? `${docs}-questions`), Gates: gates, "How sure answers are": sure});
}

const told = (run) => short(run.name, 40) || `${run.kind} of ${when(run.started_at)}`;
const signed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(3)}`.replace("-", "−");

async function runs(sets, set, list) {
	const {params, docs} = app;
	if (!sets.length) return empty("There is no set of questions yet.", "Thirty tell which change helps: ", code("rag-pg eval import SET questions.jsonl"));
	const pick = h("select", {onchange: () => app.go("quality", {s: pick.value})}, sets.map((r) => h("option", {value: r.name}, `${short(r.name, 60)} (${r.queries})`)));
	pick.value = set;
	const head = h("p", h("label", "Questions ", pick));
	if (!list.length) return [head, empty("They were not asked of this collection yet.", code(`rag-pg eval run ${docs} ${set}`))];
	const of = await Promise.all(list.map((run) => any(`eval/runs/${run.run_id}/metrics`)));
	const metric = (n, wanted) => of[n].find((r) => r.metric === wanted && r.category == null);
	const columns = [...METRICS, "correct"].filter((r) => list.some((_, n) => metric(n, r)));
	const b = Number(params.get("b") ?? list[0].run_id), a = Number(params.get("a") ?? (list.find((run) => run.baseline && run.run_id !== b) ?? list.find((run) => run.run_id !== b))?.run_id);
	const radio = (key, run, chosen) => h("input", {type: "radio", name: key, checked: run.run_id === chosen, label: `${key === "a" ? "From" : "To"} ${told(run)}`, onchange: () => app.go("quality", {s: set, a, b, [key]: run.run_id})});
	const points = list.map((run, n) => ({name: told(run), kind: run.run_id === b && "chosen", ...metric(n, columns[0])})).filter((r) => r.value != null).reverse();
	const compared = h("div"), from = list.find((run) => run.run_id === a), to = list.find((run) => run.run_id === b);
	part(compared, () => from && to && from !== to ? compare(from, to) : worst(to ?? list[0]));
	return [head, compared, points.length > 0 && [h("h3", `${columns[0]} of each run, with its 95 % interval`), intervals(columns[0], points)],
		table(["Run", "From", "To", ...columns, "Median", "Errors", "When"], list.map((run, n) => [[name(told(run)), run.baseline && [" ", pill("baseline", "good")]], radio("a", run, a), radio("b", run, b),
			...columns.map((r) => number(metric(n, r)?.value, 3)), duration(metric(n, "latency_p50")?.value), number(run.errors), run.finished_at ? ago(run.started_at) : "goes on"]))];
}

async function compare(a, b) {
	const pair = {run_a: a.run_id, run_b: b.run_id}, [found, queries] = await Promise.all([any("eval/comparison", pair), any("eval/comparison/queries", pair)]);
	const rows = found.filter((r) => r.category == null && r.wins + r.losses).map((r) => ({name: r.metric, ...r, value: r.difference, kind: r.adjusted_p_value < 0.05 && (r.difference > 0 ? "good" : "bad")}));
	const lost = queries.filter((r) => r.difference < 0).sort((x, y) => x.difference - y.difference);
	return [h("h3", name(told(b)), " against ", name(told(a))), rows.length ? table(["Metric", "Difference", "95 % interval", "Chance?", "Better", "Worse"], rows.map((r) => [r.name, signed(r.value),
		r.low == null ? "too few" : `${signed(r.low)} to ${signed(r.high)}`, r.kind ? pill("no", r.kind) : "may be", number(r.wins), number(r.losses)])) : h("p", "They measure the same."),
	lost.length > 0 && [h("h3", `Lost questions (${lost.length})`), table(["Question", "Before", "Now", "Difference"], lost.slice(0, 20).map((r) => [said(r.question ?? r.query_id), number(r.value_a, 3), r.missing_b ? said(r.missing_b) : number(r.value_b, 3), signed(r.difference)]))]];
}

async function worst(run) {
	const all = await any("eval/comparison/queries", {run_a: run.run_id, run_b: run.run_id});
	return [h("h3", "Worst questions of ", name(told(run))), table(["Question", "ndcg"], all.sort((x, y) => x.value_a - y.value_a).slice(0, 12).map((r) => [said(r.question ?? r.query_id), r.missing_a ? said(r.missing_a) : number(r.value_a, 3)]))];
}

async function bad(set) {
	const keep = (r) => {
		const boxes = r.sources.map((value) => h("input", {type: "checkbox", value})), other = h("input", {label: "Uri of another right document", placeholder: "Another uri"});
		return [boxes.map((box) => h("label.block", box, " ", name(box.value, 60))), h("div.row", other, button("Make it a question", async ({target}) => {
			const relevant = [...boxes.filter((box) => box.checked), other].map((box) => box.value.trim()).filter(Boolean);
			const queries = [{id: r.answer_id, question: r.question, relevant, category: !relevant.length ? "not judged" : r.dislikes ? "disliked" : "not found"}];
			const wrong = await post("eval/queries", {collection: undefined, set_name: set, queries, source: "feedback"}).then(({rejected}) => rejected[0]?.reason, (error) => error.message);
			target.replaceWith(wrong ? pill(short(wrong), "bad") : pill(`in ${short(set, 40)}, ${relevant.length ? "" : "not "}judged`, relevant.length ? "good" : "warn"));
		}))];
	};
	return table(["Question", "Why", "When", "What is right"], (await get("answers", {only_open: true, limit: 50})).map((r) => [said(r.question), [r.dislikes > 0 && pill(`${plural(r.dislikes, "thumb")} down`, "bad"), !r.found && pill("not found", "warn"), r.comments.map((comment) => h("small.block", said(comment)))], ago(r.answered_at), keep(r)]),
		"No logged answer is disliked or empty.", "They are logged after, in Python: ", code("docs.alter(keep_answers=timedelta(days=90))"));
}

async function gates() {
	const [all, checks] = await Promise.all([get("eval/gates"), get("eval/gates/checks")]);
	return [table(["Set", "Metric", "May lose", "Questions"], all.map((r) => [name(r.eval_set), `${r.metric}@${r.k}`, number(r.epsilon, 3), number(r.queries)]),
		"Nothing guards this collection.", "A gate refuses what loses too much, in Python: ", code('docs.evaluation.gates.set("SET", epsilon=0.01)')),
	checks.length > 0 && table(["Change", "Outcome", "By", "When"], checks.slice(0, 12).map((r) => [name(r.action), pill(r.outcome, r.outcome === "passed" ? "good" : "bad"), name(r.checked_by), ago(r.checked_at)]))];
}

async function sure() {
	const r = await get("eval/calibration");
	if (!r) return empty("This was not measured yet.", "With some hundred questions: ", code(`rag-pg calibrate ${app.docs} --set SET`));
	const share = (n) => n < 0 ? 0 : r.answered[n] / r.question_count, at = (support) => share(r.thresholds.findIndex((threshold) => threshold >= support));
	const points = r.thresholds.map((_, n) => [share(n), r.correct[n] / r.answered[n], r.lower_bounds[n]]).filter(([, y]) => y >= 0).reverse();
	return [(r.stale || r.corpus_changed) && h("p.trouble", said(r.stale ?? "The documents changed since.")),
		h("p", `By ${plural(r.question_count, "question")} of `, name(r.set_name), `: answers below ${percent(r.refuse_below)} support are refused, from ${percent(r.answer_from)} on they carry no warning. Measured `, ago(r.calibrated_at), "."),
		curve("How many answers are right, by how many questions are answered", [["right", points.map(([x, y]) => [x, y])], ["at least, 95 %", points.map(([x, , y]) => [x, y])]], [[at(r.answer_from), "given"], [at(r.refuse_below), "refused"]])];
}
