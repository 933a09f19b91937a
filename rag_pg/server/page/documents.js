import {ago, app, button, code, duration, get, h, headers, link, name, number, part, percent, pill, plural, post, said, say, short, show, table} from "./core.js";
import * as source from "./source.js";

export function open() {
	const {params} = app;
	const facts = h("div.tiles"), files = h("ul.plain", {"aria-live": "polite"}), failures = h("div"), rows = h("div");
	const field = h("input", {id: "field", type: "search", value: params.get("p"), placeholder: "Uri begins with …"});
	const see = () => {
		tiles(facts, app.stats);
		part(failures, () => failed(refresh));
		part(rows, () => list(rows, params.get("p")));
	};
	const refresh = async () => {await app.refresh(); see();};
	see();
	if (params.get("u")) source.open({uri: params.get("u")});
	return [facts, upload(files, refresh), files, failures,
		h("form.row", {go: () => app.go("documents", {p: field.value})}, field, h("button", "Show")), rows];
}

function tiles(node, stats) {
	const tile = (value, word, kind) => h(`div.tile.${kind || ""}`, h("strong", value), h("span", word));
	show(node, tile(number(stats.documents), "documents"), tile(number(stats.chunks), "passages"), tile(stats.chunks ? percent(stats.embedded / stats.chunks) : "–", "have vectors"),
		tile(number(stats.pending), stats.eta ? `wait, ${duration(stats.eta)} left` : "wait", stats.pending && "warn"),
		tile(stats.lag ? duration(stats.lag) : "none", "lag", stats.lag > 60 && "warn"), tile(number(stats.failed), "failed", stats.failed && "bad"), stats.reason && h("p.trouble", said(stats.reason)));
}

async function failed(refresh) {
	const jobs = await get("jobs", {state: "dead", limit: 100});
	const again = (text, job) => button(text, async ({target}) => {
		const {count} = await post("jobs/retry", {...(job && {kind: job.kind, uri: job.uri.replace(/[\\%_]/g, "\\$&")})});
		say(`${plural(count, "job")} queued again`);
		target.disabled = true;
		refresh();
	});
	return jobs.length > 0 && [h("h2", `Failed (${jobs.length})`), again("Try all again"), table(["Document", "Work", "Error", "Action"], jobs.map((job) => [name(job.uri), job.kind, said(job.last_error, 600), again("Try again", job)]))];
}

async function list(node, uri_prefix) {
	let all = [];
	const more = async (after) => {
		const {documents, next} = await get("documents", {after, uri_prefix, limit: 50});
		all = all.concat(documents.map((doc) => [[link(name(doc.title || doc.uri), () => source.open(doc)), h("small.block", name(doc.uri))],
			[pill(doc.state, {ready: "good", pending: "warn", failed: "bad"}[doc.state]), doc.error && h("small.block", said(doc.error))], number(doc.chunks), number(doc.version), ago(doc.updated_at)]));
		return [table(["Document", "State", "Passages", "Version", "Stored"], all, ...uri_prefix ? ["No uri begins so."]
			: ["There is no document here yet.", "Drop files above, or run ", code(`rag-pg add FOLDER -c ${app.docs}`)]), next && button("More", () => part(node, () => more(next)))];
	};
	return more("");
}

function upload(files, refresh) {
	const input = h("input.hidden", {type: "file", multiple: true, id: "files", onchange: () => send(input.files)});
	const {docs} = app;
	const send = async (chosen) => {
		for (const file of [...chosen]) await sent(file);
		input.value = "";
		refresh();
	};
	const sent = (file) => new Promise((done) => {
		const bar = h("progress", {max: 1, value: 0, label: `Upload of ${short(file.name)}`}), state = h("span"), form = new FormData(), call = new XMLHttpRequest();
		files.prepend(h("li", name(file.name), " ", bar, " ", state));
		const end = (kind, told) => {
			bar.remove();
			show(state, pill(kind, kind === "failed" ? "bad" : "good"), " ", said(told, 600));
			done();
		};
		call.upload.onprogress = ({loaded, total}) => {show(state, loaded < total ? percent(bar.value = loaded / total) : "being read");};
		call.onerror = () => end("failed", "Too large, or the service is gone.");
		call.onload = () => {
			const body = call.response ?? {}, wrong = call.status >= 400 ? body.detail ?? `Error ${call.status}` : body.failures?.[0]?.error;
			end(wrong ? "failed" : body.unchanged ? "unchanged" : "queued", wrong ?? body.notes?.join(" "));
		};
		call.responseType = "json";
		form.append("collection", docs);
		form.append("files", file);
		call.open("POST", "uploads");
		for (const header of Object.entries(headers())) call.setRequestHeader(...header);
		call.send(form);
	});
	const zone = h("div.drop", input, h("label.button", {for: "files"}, "Choose files"), " or drop them here");
	for (const kind of ["dragover", "dragleave", "drop"]) {
		addEventListener(kind, (event) => {
			if (!event.dataTransfer?.types.includes("Files")) return;
			event.preventDefault();
			zone.classList.toggle("over", kind === "dragover");
			if (kind === "drop") send(event.dataTransfer.files);
		}, {signal: app.signal});
	}
	return zone;
}
