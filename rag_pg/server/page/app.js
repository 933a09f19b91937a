import {$, any, app, code, empty, h, part, short, show} from "./core.js";
import {close} from "./source.js";

const SCREENS = ["Ask", "Search", "Documents", "Quality", "Work"];
let ends = null;

app.address = (screen, params) => `${location.href.split("#")[0]}#/${screen}?${new URLSearchParams({c: app.docs, ...params})}`;
app.go = (screen, params) => {
	const address = app.address(screen, params);
	if (address === location.href) draw();
	else location.href = address;
};
app.refresh = async (wanted = app.docs) => {
	const all = await any("collections"), now = wanted ? all.find((r) => r.info.name === wanted) : all[0];
	Object.assign(app, {docs: now?.info.name ?? wanted ?? "", info: now?.info, stats: now?.stats ?? {}});
	return all;
};

function draw() {
	ends?.abort();
	ends = new AbortController();
	close();
	const [, path, given] = /^#\/(\w*)\??(.*)$/.exec(location.hash) ?? [], screen = SCREENS.find((r) => r.toLowerCase() === path) ?? "Ask", inner = h("div");
	Object.assign(app, {signal: ends.signal, params: new URLSearchParams(given)});
	document.title = `${screen} · rag_pg`;
	$("main").className = screen.toLowerCase();
	show($("main"), inner);
	part(inner, async () => {
		const made = import(`./${screen.toLowerCase()}.js`);
		const wanted = app.params.get("c"), all = await app.refresh(wanted ?? undefined);
		show($("collection"), all.map(({info}) => h("option", {value: info.name}, short(info.name, 60))));
		$("collection").value = app.docs;
		show($("nav"), SCREENS.map((r) => h("a", {href: app.address(r.toLowerCase(), {}), "aria-current": r === screen && "page"}, r)));
		if (!all.length) return empty("There is no collection yet.", code("rag-pg add FOLDER"), " makes one of your files, ", code("rag-pg demo"), " shows this project's documentation.");
		if (!app.info) return empty("No such collection may be read from here.", "Choose another above.");
		return (await made).open();
	});
}

$("collection").onchange = ({target}) => {
	app.docs = target.value;
	app.go($("main").className, {});
};
$("skip").onclick = (event) => {event.preventDefault(); $("main").focus();};
addEventListener("hashchange", draw);
addEventListener("keydown", (event) => {
	if (event.key === "Escape") close();
	if (event.key === "/" && !event.target.closest("input, textarea, select")) {event.preventDefault(); $("field")?.focus();}
});
draw();
