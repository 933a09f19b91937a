export const $ = (id) => document.getElementById(id);
// What is shown: docs (a collection's name), info, stats, params of the address, signal of its end.
export const app = {};

// Texts become text nodes and attributes: none is read as markup.
function append(node, children) {
	node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
	return node;
}
function fill(node, children) {
	if (children[0] && Object.getPrototypeOf(children[0]) === Object.prototype) {
		for (const [name, value] of Object.entries(children.shift())) {
			if (name === "go") node.onsubmit = (event) => {event.preventDefault(); value();};
			else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
			else if (value != null && value !== false) node.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : value);
		}
	}
	return append(node, children);
}
// h("p.soft", {attributes}, ...children); attributes are optional; label: aria-label, go: what a form does.
export function h(tag, ...children) {
	const [kind, ...classes] = tag.split("."), node = document.createElement(kind);
	if (classes.length) node.className = classes.join(" ");
	return fill(node, children);
}
export const svg = (tag, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), children);
export const show = (node, ...children) => {
	node.replaceChildren();
	return append(node, children);
};
export const say = (text) => {$("said").textContent = text;};
export const button = (text, onclick, props) => h("button", {type: "button", onclick, ...props}, text);
export const link = (text, onclick) => button(text, onclick, {class: "link"});
export const code = (text) => h("code", text);
export const pill = (text, kind = "") => h(`span.pill.${kind}`, text);
export const empty = (title, ...next) => h("div.empty", h("strong", title), h("p", next));
export const trouble = (error, again) => h("div.trouble", {role: "alert"}, h("p", {dir: "auto"}, short(error.message, 2000)), again && button("Try again", () => {asking = null; again();}));

// Shows what `work` gives, or why it fails; the other parts stay.
export async function part(node, work, {signal} = app) {
	const shown = await work().catch((error) => trouble(error, () => part(node, work)));
	if (!signal.aborted) show(node, shown);
	return node;
}

// views: title -> work.
export const sections = (views) => Object.entries(views).map(([title, work]) => {
	const node = h("div");
	part(node, work);
	return h("section", h("h2", title), node);
});

// Rows become cards on a narrow screen, which takes their roles: they are written out. none: told without rows.
export const table = (heads, rows, ...none) => !rows.length && none.length ? empty(...none) : h("table", {role: "table"},
	h("thead", {role: "rowgroup"}, h("tr", {role: "row"}, heads.map((head) => h("th", {role: "columnheader", scope: "col"}, head)))),
	h("tbody", {role: "rowgroup"}, rows.map((row) => h("tr", {role: "row"}, row.map((value, at) =>
		h("td", {role: "cell", "data-label": heads[at], class: typeof value === "string" && /^[-–+−$\d]/.test(value) && "n"}, value))))));

// Texts of documents: cut, isolated, what turns the direction of writing made visible.
const TURNS = /[\0-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
export const short = (text, most = 160) => {
	const cut = String(text ?? "").slice(0, most).replace(TURNS, "\ufffd");
	return cut.length < most ? cut : `${cut.replace(/[\ud800-\udbff]$/, "")}…`;
};
export const name = (text, most) => h("bdi", short(text, most));
export const said = (text, most = 300) => h("span", {dir: "auto"}, short(text, most));

export const number = (value, digits) => value == null ? "–" : digits ? value.toFixed(digits) : value.toLocaleString("en");
export const percent = (value) => value == null ? "–" : `${Math.round(100 * value)} %`;
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
export const money = (value) => value == null ? "price not known" : `$${value && value < 0.01 ? value.toPrecision(2) : value.toFixed(2)}`;
export function duration(seconds) {
	if (seconds == null) return "–";
	if (seconds < 90) return seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(seconds < 10)} s`;
	const [size, word] = seconds < 5400 ? [60, "min"] : seconds < 194400 ? [3600, "h"] : [86400, "days"];
	return `${Math.round(seconds / size)} ${word}`;
}
export const when = (moment) => new Date(moment).toLocaleString([], {dateStyle: "short", timeStyle: "short"});
export function ago(moment) {
	if (!moment) return "–";
	const seconds = (Date.now() - new Date(moment)) / 1000;
	return h("time", {datetime: moment, title: when(moment)}, seconds < 5 ? "now" : `${duration(seconds)} ago`);
}

// Relative: a prefix works.
const KEY = "rag_pg key";
export const headers = () => sessionStorage[KEY] ? {authorization: `Bearer ${sessionStorage[KEY]}`} : {};

export async function request(path, params, body, signal = app.signal) {
	const given = Object.entries(params).filter(([, value]) => value != null && value !== "");
	const response = await fetch(body ? path : `${path}?${new URLSearchParams(given)}`, {signal, headers: {...headers(), "content-type": "application/json"}, ...(body && {method: "POST", body: JSON.stringify(body)})}).catch((error) => {
		throw error.name === "AbortError" ? error : new Error("Nobody answers. See whether rag-pg serve still runs.");
	});
	if (response.ok) return response;
	const {detail} = await response.json().catch(() => ({}));
	if (response.status === 401 && await keyGiven(detail)) return request(path, params, body, signal);
	throw Object.assign(new Error(detail ?? `The service answered ${response.status}.`), {status: response.status});
}
export const any = async (path, params = {}) => (await request(path, params)).json();
export const get = (path, params) => any(path, {collection: app.docs, ...params});
export const post = async (path, body, signal) => (await request(path, {}, {collection: app.docs, ...body}, signal)).json();

let asking = null;
const keyGiven = (detail) => asking ??= new Promise((done) => {
	const field = h("input", {type: "password", autocomplete: "off", required: true});
	const dialog = h("dialog", {label: "Key", onclose: () => {
		dialog.remove();
		if (dialog.returnValue) asking = null; // else nobody asks again unbidden
		done(dialog.returnValue);
	}}, h("form", {method: "dialog", onsubmit: () => {sessionStorage[KEY] = field.value.replace(/[^!-~]/g, "");}}, h("h2", "This service asks for a key"), sessionStorage[KEY] && h("p.trouble", short(detail, 500)),
		h("label", "Key", field), h("p.soft", code("rag-pg key make NAME"), " makes one. It stays in this tab."), h("button.main", {value: "used"}, "Use it")));
	document.body.append(dialog);
	dialog.showModal();
});

// EventSource cannot POST. An event: kind, data, an empty line.
export async function* events(response) {
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let pieces = [];
	for (let got; !(got = await reader.read().catch(() => ({done: true}))).done;) {
		pieces.push(got.value);
		if (!got.value.includes("\n")) continue;
		const all = pieces.join("").split("\n\n");
		pieces = [all.pop()];
		for (const one of all) {
			const [, kind, data] = /^event: (.*)\ndata: (.*)/.exec(one) ?? [];
			if (kind) yield {kind, ...JSON.parse(data)};
		}
	}
}
