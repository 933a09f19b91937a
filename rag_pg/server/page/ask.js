import {app, button, code, duration, events, h, link, money, name, number, percent, pill, plural, post, request, said, say, short, show, trouble} from "./core.js";
import {markdown} from "./markdown.js";
import * as source from "./source.js";

const talks = {}; // turns by collection
let redraw;
const WORDS = {
	exact: ["good", "exact", "stands there"], normalised: ["good", "same words", "stands there but for spaces and marks"],
	partial: ["warn", "partly", "stands there in part"], superseded: ["warn", "old text", "stood in an earlier version"], unknown: ["warn", "unknown", "has lost its source"],
	misattributed: ["bad", "elsewhere", "stands in another document"], fabricated: ["bad", "not found", "stands in no document"],
};
const word = ({status}) => WORDS[status] ?? ["", "not checked", "was not looked for"];
const checked = (citation) => h(`span.pill.${word(citation)[0]}`, {title: `The quotation ${word(citation)[2]}`}, word(citation)[1]);

export function open() {
	const turns = talks[app.docs] ??= [], log = h("div.talk"), go = h("button.main", "Ask");
	const field = h("textarea", {id: "field", rows: 1, dir: "auto", required: true, placeholder: "Ask in your own words", label: "Question", onkeydown: (event) => {
		if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {event.preventDefault(); form.requestSubmit();}
	}});
	const stop = button("Stop", () => turns.at(-1)?.running?.abort());
	const fresh = link("New conversation", () => {
		turns.at(-1).running?.abort();
		talks[app.docs] = [];
		app.go("ask", {});
	});
	const form = h("form.composer", {go: () => {
		if (!turns.length) history.replaceState(null, "", app.address("ask", {q: field.value}));
		start(field.value);
		field.value = "";
	}}, field, go, stop);
	const draw = redraw = () => {
		go.hidden = !!turns.at(-1)?.running;
		stop.hidden = !go.hidden;
		fresh.hidden = !turns.length;
		show(log, turns.length ? turns.map((turn) => turn.node) : h("div.hello", h("h2", "Ask the documents of ", name(app.docs)), app.info.description && h("p", said(app.info.description)),
			h("p", app.stats.documents ? `${plural(app.stats.documents, "document")}, ${plural(app.stats.chunks, "passage")}.` : ["There is nothing here yet: drop files under Documents, or run ", code(`rag-pg add FOLDER -c ${app.docs}`)]),
			h("p.soft", "A number opens the passage that a statement is from.")));
	};
	const start = (question) => {
		turns.at(-1)?.running?.abort();
		const turn = {question, text: "", citations: [], running: new AbortController(), node: h("article.turn")};
		turn.draw = () => drawTurn(turn, () => {turns.splice(turns.indexOf(turn), 1); start(question);});
		const history = turns.filter((r) => r.answer).slice(-10).flatMap((r) => [{role: "user", content: r.question}, {role: "assistant", content: r.text}]);
		turns.push(turn);
		draw();
		turn.draw();
		turn.node.scrollIntoView();
		run(turn, {collection: app.docs, question, history, stream: true}).then(() => redraw());
	};
	draw();
	const asked = app.params.get("q");
	if (asked && turns.every((r) => r.question !== asked)) start(asked);
	return [log, form, h("p.under.row.soft", "Shift+Enter begins a line, / comes here", fresh)];
}

// A drawing waits 8 times as long as the last took.
async function run(turn, body) {
	let planned = 0, pause = 40;
	const later = () => {
		planned ||= setTimeout(() => {
			const began = performance.now();
			planned = 0;
			turn.draw();
			pause = Math.max(40, 8 * (performance.now() - began));
		}, pause);
	};
	say("Searching");
	try {
		for await (const {kind, text, citation, answer, step, detail} of events(await request("ask", {}, body, turn.running.signal))) {
			if (kind === "error") throw new Error(detail);
			if (text) turn.text += text;
			if (citation) turn.citations.push(citation);
			if (step) turn.step = step.kind;
			if (answer) Object.assign(turn, {answer, text: answer.text, citations: answer.citations});
			later();
		}
		if (!turn.answer) throw new Error("The answer ended before it was whole.");
		say(turn.answer.found ? `The answer is there, with ${plural(turn.citations.length, "citation")}.` : "The documents do not answer this.");
	} catch (error) {
		turn.error = turn.running.signal.aborted ? new Error("Stopped.") : error;
	}
	clearTimeout(planned);
	turn.running = null;
	turn.draw();
}

function drawTurn(turn, again) {
	const {answer, citations, running} = turn, seen = {};
	// The k-th [n] of a text belongs to the k-th citation of source n.
	const cite = (wanted) => {
		const of = citations.filter((r) => r.number === wanted), r = of[Math.min(seen[wanted] = (seen[wanted] ?? -1) + 1, of.length - 1)];
		return r ? button(`${wanted}`, () => opened(turn, r), {class: `cite ${word(r)[0]}`, label: `Source ${wanted}: ${short(r.heading || r.title || r.uri)}`}) : `[${wanted}]`;
	};
	show(turn.node, h("h2.question", {dir: "auto"}, short(turn.question, 4000)), h("div.answer", markdown(turn.text, cite)),
		running && h("p.soft", turn.text ? "Writing …" : turn.step ? `Reading (${short(turn.step)}) …` : "Searching …"), turn.error && trouble(turn.error, again),
		answer && [measures(answer), notes(answer), sources(turn), how(answer), thumbs(turn)]);
}

function measures({found, sufficient, support, freshness, cached, seconds, usage, cost, strategy, model}) {
	const used = usage.prompt_tokens + usage.answer_tokens;
	return h("p.measures", !found ? pill("not in the documents", "warn") : sufficient === false && pill("not the whole answer", "warn"), support != null && pill(`${percent(support)} likely right`),
		freshness?.as_of && h("span", `as of ${freshness.as_of}`), h("span", cached ? "from the cache" : duration(seconds)), h("span", used ? `${number(used)} tokens, ${money(cost)}` : "no model paid"), name([...new Set([strategy, model])].filter(Boolean).join(" · ")));
}

function notes({found, sufficient, reason, freshness, notes: others}) {
	const all = [(!found || sufficient === false) && reason, ...(freshness?.reasons ?? []), ...others].filter(Boolean);
	return all.length > 0 && h("ul.notes", all.map((r) => h("li", said(r, 1000))));
}

function sources(turn) {
	const by = Object.groupBy(turn.citations, (r) => r.number), results = turn.answer.tool_results;
	return turn.citations.length + results.length > 0 && h("section.sources", h("h3", "Sources"), h("ol", Object.values(by).map((all, _, __, [r] = all) => h("li", {value: r.number},
		button([h("strong", name(r.heading || r.title || r.uri)), said(r.quote.slice(0, 2000).replace(/\s+/g, " "), 180), h("span.soft", name(r.uri), r.page && ` · ${r.page_kind} ${r.page}`, r.as_of && ` · ${r.as_of}`)], () => opened(turn, r), {class: "source"}),
		checked(all.find((c) => word(c)[0] !== "good") ?? r), all.some((c) => c.supports === false) && pill("does not say it", "bad"))),
	results.map((r) => h("li", {value: r.number}, name(`${r.name}: ${r.text}`, 400)))));
}

const opened = ({citations}, chosen) => source.open({...chosen, page: chosen.page_kind === "page" && chosen.page, note: [h("strong", `[${chosen.number}] `), name(chosen.heading), " ", checked(chosen)],
	spans: citations.filter((r) => r.uri === chosen.uri).map((r) => ({start: r.document_start, stop: r.document_stop, quote: r.quote, now: r === chosen}))});

function how({steps}) {
	const told = ({query, question, purpose, reason, hits}) => short(`${query ?? question ?? purpose ?? reason ?? ""}${hits ? ` → ${plural(hits.length, "passage")}` : ""}`, 240);
	return steps.length > 0 && h("details.how", h("summary", `How it was answered (${plural(steps.length, "step")})`), h("ol", steps.map(({kind, detail, seconds, usage}) => h("li", h("details",
		h("summary", h("strong", short(kind)), " ", h("bdi", told(detail)), ` ${duration(seconds)}`, usage.prompt_tokens > 0 && `, ${number(usage.prompt_tokens + usage.answer_tokens)} tokens`), h("pre", {tabindex: 0}, JSON.stringify(detail, null, 1).slice(0, 20000)))))));
}

function thumbs(turn) {
	const told = h("span", {role: "status"}), why = h("input", {label: "What is wrong with it", placeholder: "What is wrong?", dir: "auto", hidden: true, onchange: () => rate(-1)});
	const rate = async (rating) => {
		try {
			await post("feedback", {answer_id: turn.answer.trace_id, rating, comment: why.value}, null);
			turn.rated = rating;
			all.forEach(([sign, r]) => r.setAttribute("aria-pressed", `${sign === rating}`));
			why.hidden = rating > 0;
			show(told, rating > 0 ? "Noted." : ["Noted; it waits under ", h("a", {href: app.address("quality", {})}, "Quality"), "."]);
		} catch (error) {
			show(told, error.status === 404 ? ["Nothing can be noted: answers are not kept. In Python: ", code("docs.alter(keep_answers=timedelta(days=90))")] : error.message);
		}
	};
	const all = [[1, "Good answer"], [-1, "Bad answer"]].map(([rating, told]) => [rating, button(told, () => rate(rating), {"aria-pressed": `${turn.rated === rating}`})]);
	return h("div.row", all.map(([, r]) => r), h("a", {href: app.address("search", {q: turn.question})}, "Search for it"), why, told);
}
