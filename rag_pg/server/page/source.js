import {$, app, button, code, empty, get, h, name, number, part, request, short, show, when} from "./core.js";
import {anchor} from "./markdown.js";

let from = null, loading = null, file = "";

export function close() {
	if ($("side").hidden) return;
	loading.abort();
	URL.revokeObjectURL(file);
	$("side").hidden = true;
	from?.focus({preventScroll: true});
}

// spans: {start, stop, quote, now} in code points; now: the one asked for.
export async function open({uri, title, spans = [], chunk_id: chunk, page, note}) {
	const side = $("side"), params = {uri}, kept = {};
	if (side.hidden) from = document.activeElement;
	loading?.abort();
	loading = new AbortController();
	const body = h("div", {id: "side-body", role: "tabpanel", tabindex: 0});
	const once = (path) => kept[path] ??= get(path, params);
	const views = {
		Text: async () => text(await once("documents"), spans, () => once("documents/chunks")),
		Chunks: async () => chunks(await once("documents/chunks"), chunk, spans),
		Versions: async () => versions(await once("documents/versions"), uri),
		File: async () => original(uri, page),
	};
	const choose = async (wanted) => {
		for (const tab of tabs.children) {
			const chosen = tab.textContent === wanted;
			tab.setAttribute("aria-selected", chosen);
			tab.tabIndex = chosen ? 0 : -1;
		}
		body.setAttribute("aria-label", wanted);
		await part(body, views[wanted], loading);
		(body.querySelector(".now") ?? body.querySelector("mark"))?.scrollIntoView({block: "center"});
	};
	const tabs = h("div.tabs", {role: "tablist", label: "Views of the document", onkeydown: ({key}) => {
		const all = [...tabs.children], step = {ArrowRight: 1, ArrowLeft: -1}[key], next = step && all.at((all.indexOf(document.activeElement) + step) % all.length);
		next?.focus();
		next?.click();
	}}, Object.keys(views).map((r) => button(r, () => choose(r), {role: "tab", "aria-controls": "side-body"})));
	show(side, h("header.side-head", h("div", h("h2", {id: "side-title"}, name(title || uri)), h("p.soft", anchor(uri, name(uri))), h("p", note)),
		button("×", close, {label: "Close the document"})), tabs, body);
	side.hidden = false;
	side.focus({preventScroll: true});
	await choose(chunk && !spans.length ? "Chunks" : "Text");
}

// Code points, as Python and PostgreSQL count -> UTF-16 units, as JavaScript does.
export const units = (content, offsets) => offsets.map((offset) => {
	let unit = 0;
	for (let point = 0; point < offset && unit < content.length; point++) unit += content.codePointAt(unit) > 0xffff ? 2 : 1;
	return unit;
});

// Quotations stand at their offsets, else where they are found.
function places(content, spans) {
	const at = units(content, spans.flatMap((span) => [span.start ?? 0, span.stop ?? 0])), all = [];
	spans.forEach(({quote, now}, n) => {
		let [start, stop] = [at[2 * n], at[2 * n + 1]];
		if (content.slice(start, stop) !== quote) stop = (start = content.indexOf(quote)) + quote.length;
		if (start >= 0 && stop > start) all.push([start, stop, now]);
	});
	return all.sort((a, b) => a[0] - b[0] || (b[2] ?? 0) - (a[2] ?? 0));
}

function marked(content, all, heads) {
	const node = h("div.document", {dir: "auto"});
	const put = (start, stop) => {
		for (const piece of heads ? content.slice(start, stop).split(/^(#{1,6} .*)$/m) : [content.slice(start, stop)]) {
			node.append(heads && /^#{1,6} /.test(piece) ? h("strong", piece) : piece);
		}
	};
	let at = 0;
	for (const [start, stop, now] of all) {
		if (start < at) continue;
		put(at, start);
		node.append(h(now ? "mark.now" : "mark", content.slice(start, stop)));
		at = stop;
	}
	put(at);
	return node;
}

async function text({content, media_type: type}, spans, ready) {
	if (content == null) return chunks(await ready(), null, spans); // chunks brought ready-made
	const all = places(content, spans);
	return [spans.length > 0 && !all.some((r) => r[2]) && h("p.trouble", "The quotation no longer stands here: see the versions."), marked(content, all, type === "text/markdown")];
}

function chunks(all, wanted, spans) {
	if (!all.length) return empty("It has no chunks yet.", "See Work.");
	const place = all.findIndex((r) => r.chunk_id === wanted), box = h("div");
	const draw = (first, stop) => show(box, stop < all.length && button(`All ${all.length} chunks`, () => draw(0, all.length)), h("ol.chunks", all.slice(first, stop).map((r, n) => h("li", {class: r.chunk_id === wanted && "now"},
		h("p.soft", `Chunk ${first + n + 1} of ${all.length} · `, name(r.heading), r.stop_offset != null && ` · characters ${number(r.start_offset)} to ${number(r.stop_offset)}`), marked(r.content, places(r.content, spans))))));
	return draw(Math.max(0, place - 3), place < 0 ? 40 : place + 4);
}

function versions(all, uri) {
	if (all.length < 2) return empty("There is one version.", "Earlier ones are kept after, in Python: ", code("docs.alter(keep_versions=timedelta(days=365))"));
	const told = h("div"), pick = (label, chosen) => {
		const select = h("select", {label, onchange: () => draw()}, all.map(({version, state, valid_from: since}) => h("option", {value: version}, `${version}: ${state} ${since ? when(since) : ""}`)));
		select.value = chosen;
		return select;
	};
	const old = pick("Before", all[1].version), recent = pick("After", all[0].version);
	const draw = () => part(told, async () => {
		const lines = await get("documents/difference", {uri, old: old.value, new: recent.value});
		return lines.length ? h("table.lines", h("tr", ["before", "after", "change", "line"].map((head) => h("th", {scope: "col"}, head))), lines.slice(0, 3000).map((r) =>
			h("tr", {class: {"+": "plus", "-": "minus"}[r.change]}, [r.old_line ?? "", r.new_line ?? "", r.change.replace("=", "")].map((cell) => h("td", `${cell}`)), h("td", {dir: "auto"}, short(r.line, 4000)))))
			: empty("They say the same.");
	});
	draw();
	return [h("p.row", old, " to ", recent), told];
}

// The browser shows a PDF at its page; what could run is only downloaded.
async function original(uri, page) {
	const response = await request("documents/original", {collection: app.docs, uri}).catch((error) => {if (error.status !== 404) throw error;});
	if (!response) return empty("The file itself is not kept.", "It is of what is added after, in Python: ", code("docs.alter(keep_original=True)"));
	const told = response.headers.get("content-disposition") ?? "", inside = told.startsWith("inline"), data = await response.blob();
	const named = decodeURIComponent(told.split("UTF-8''")[1] ?? "file");
	URL.revokeObjectURL(file);
	file = URL.createObjectURL(inside ? data : new Blob([data]));
	return [h("p.row", h("a.button", {href: file, download: short(named)}, "Download"), name(named)), inside && (/^image/.test(data.type) ? h("img", {src: file, alt: short(named)}) : h("iframe.file", {title: short(named), src: page ? `${file}#page=${page}` : file}))];
}
