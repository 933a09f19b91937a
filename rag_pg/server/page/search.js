import {app, button, duration, empty, get, h, link, name, number, part, pill, plural, post, said, short, show, table} from "./core.js";
import * as source from "./source.js";

export function open() {
	const query = app.params.get("q"), limit = Number(app.params.get("n") ?? 10), chosen = JSON.parse(app.params.get("f") ?? "{}"); // field -> values
	const filter = Object.fromEntries(Object.entries(chosen).map(([field, values]) => [field, {$in: values}]));
	const field = h("input", {id: "field", type: "search", value: query, dir: "auto", required: true, label: "Search", placeholder: "Words or a question"});
	const go = (changed) => app.go("search", {q: field.value, f: JSON.stringify(chosen), ...changed}), filters = h("div.facets"), found = h("div");
	part(filters, () => facets(chosen, filter, go));
	if (query) part(found, () => results({query, limit, filter}, go));
	else show(found, empty("Nothing is searched yet.", "Type words or a question above."));
	return [h("form.composer", {go}, field, h("button.main", "Search")), filters, found];
}

async function results(search, go) {
	const {hits, method, seconds, notes} = await post("search", search);
	const leg = (rank, detail) => rank == null ? h("span.soft", "not found") : [h("strong", {class: rank === 1 && "good"}, `${rank}`), h("small", `\xa0${number(detail, 3)}`)];
	const rows = hits.map((hit, n) => [`${n + 1}`, h("div.passage", link(name(hit.heading || hit.title || hit.uri), () => source.open({uri: hit.uri, title: hit.title, chunk_id: hit.chunk_id})),
		h("p", said(hit.content.slice(0, 2000).replace(/\s+/g, " "), 220)), h("small", name(hit.uri))), number(hit.score, 3), leg(hit.vector_rank, hit.vector_distance), leg(hit.keyword_rank, hit.keyword_score)]);
	return [h("p.measures", {role: "status"}, `${plural(rows.length, "passage")} by ${method} in ${duration(seconds)}`, notes.map((note) => pill(short(note, 300), "warn"))),
		table(["#", "Passage", "Score", "Vector rank, distance", "Word rank, score"], rows, "Nothing was found.", "Take a filter away or try other words."),
		rows.length === search.limit && button("More", () => go({n: 2 * search.limit})), missing(search)];
}

async function facets(chosen, filter, go) {
	const fields = (await get("fields", {examples: 0})).slice(0, 8).map((r) => r.field);
	return Promise.all([...new Set([...Object.keys(chosen), ...fields])].map(async (field) => {
		const values = await get("facets", {field, filter: JSON.stringify({...filter, [field]: undefined}), limit: 12}).catch(() => []), old = chosen[field] ?? [];
		return (old[0] != null || values[0]?.total_values < 100) && h("details", {open: field in chosen}, h("summary", name(field, 40)), [...values, ...old.filter((value) => values.every((r) => r.value !== value)).map((value) => ({value}))].map(({value, documents}) => button([name(value, 40), h("small", ` ${number(documents)}`)], () => {
			chosen[field] = old.includes(value) ? old.filter((r) => r !== value) : [...old, value];
			if (!chosen[field].length) delete chosen[field];
			go();
		}, {"aria-pressed": `${old.includes(value)}`, class: "pill"})));
	}));
}

function missing(search) {
	const uri = h("input", {label: "Its uri", placeholder: "handbook/leave.md", required: true}), told = h("div", {"aria-live": "polite"});
	const follow = async () => {
		const {hits} = await post("search", {...search, limit: 1, filter: {$uri: uri.value}}), chunk = hits[0] ?? (await get("documents/chunks", {uri: uri.value}))[0];
		if (!chunk) return empty("It has no passage.", "It waits, has failed, or is not there: see Documents.");
		return [h("p", "Its passage ", name(chunk.heading || chunk.uri), ":"), table(["Step", "Passed", "Why"], (await post("why_not", {...search, chunk_id: chunk.chunk_id})).map((r) => [r.check_name, pill(r.passed ? "yes" : "no", r.passed ? "good" : "bad"), said(r.detail)]))];
	};
	return h("details", h("summary", "A document is missing here?"), h("form.row", {go: () => part(told, follow)}, uri, h("button", "Why not?")), told);
}
