import {h, short, svg} from "./core.js";

const WIDE = Math.min(640, innerWidth - 40);
const figure = (label, high, ...parts) => h("figure", svg("svg", {viewBox: `0 0 ${WIDE} ${high}`, role: "img", label}, ...parts));
const text = (x, y, told, anchor = "start") => svg("text", {x, y, "text-anchor": anchor}, told);
const path = (kind, d) => svg("path", {class: kind, d});

// points: {name, value, told}
export function bars(label, points) {
	const most = Math.max(1e-9, ...points.map((r) => r.value)), step = (WIDE - 54) / points.length, wide = Math.max(1, Math.min(40, step - 3));
	return figure(`${label}: ${points.map((r) => r.told).join("; ")}`, 180, text(44, 20, most.toPrecision(2), "end"), path("", `M50 10V150H${WIDE}`),
		points.map((r, n) => svg("rect", {class: "bar", x: 54 + n * step, y: 150 - 135 * r.value / most, width: wide, height: 135 * r.value / most}, svg("title", r.told))), text(52, 170, points[0].name), points.length > 1 && text(WIDE, 170, points.at(-1).name, "end"));
}

// rows: {name, value, low, high, kind}, from 0 to 1
export function intervals(label, rows) {
	const from = WIDE / 3, x = (value) => from + (WIDE - from - 12) * value, end = 28 * rows.length;
	return figure(label, end + 24, path("", `M${from} ${end}H${x(1)}`), rows.map((r, n) => svg("g", {class: r.kind, transform: `translate(0 ${28 * n + 14})`}, text(from - 10, 5, short(r.name, WIDE / 24 | 0), "end"),
		r.low != null && path("line", `M${x(r.low)} 0H${x(r.high)}`), svg("circle", {cx: x(r.value), r: 5}))), text(from, end + 18, "0"), text(x(1), end + 18, "1", "end"));
}

// lines: [name, [[x, y]]], both 0 to 1; marks: [x, name]
export function curve(label, lines, marks) {
	const x = (share) => 60 + (WIDE - 80) * share, y = (share) => 200 - 180 * share;
	return figure(label, 245, path("", `M60 20V200H${x(1)}`), [0, 0.5, 1].map((r) => [text(52, y(r) + 5, `${100 * r} %`, "end"), text(x(r), 218, `${100 * r} %`, "middle")]), text(x(0.5), 238, "of the questions are answered", "middle"), text(66, 14, "right"),
		marks.map(([at, told]) => [path("zero", `M${x(at)} 20V200`), text(x(at) - 4, 194, told, "end")]), lines.map(([told, points], n) => [path(`line ${n ? "soft" : ""}`, `M${points.map((r) => `${x(r[0])} ${y(r[1])}`).join("L")}`), points[0] && text(x(points.at(-1)[0]) - 4, y(points.at(-1)[1]) + (n ? 18 : -8), told, "end")]));
}
