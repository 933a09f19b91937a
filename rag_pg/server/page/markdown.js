// Markdown of answers -> nodes. No HTML is read, links go to http, https and mailto alone.
// It goes forward and looks once for what is not there: the time is linear.
import {h, pill} from "./core.js";

const SAFE = /^(https?:\/\/|mailto:)/i;
export const anchor = (href, told = href) => SAFE.test(href) ? h("a", {href, target: "_blank", rel: "noreferrer"}, told) : told;

function inline(text, cite, depth = 0) {
	const out = [], known = new Map();
	let plain = 0, at = 0;
	// The first place from here on; places only go up.
	const find = (token, from) => {
		const place = known.get(token);
		if (place === undefined || (place >= 0 && place < from)) known.set(token, text.indexOf(token, from));
		return known.get(token);
	};
	const put = (node, stop) => {
		out.push(text.slice(plain, at), node);
		at = plain = stop;
	};
	while (at < text.length) {
		const r = text[at], two = text[at + 1] === r ? r + r : r, from = at + two.length;
		if (r === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) put(text[at + 1], at + 2);
		else if (r === "`") {
			const stop = find(two, from);
			if (stop > 0) put(h("code", text.slice(from, stop)), stop + two.length);
			else at = from;
		} else if (r === "*" || (r === "_" && !/[\p{L}\p{N}]/u.test(text[at - 1] ?? ""))) {
			const stop = find(two, from);
			if (stop > from && depth < 4 && /\S/.test(text[from]) && /\S/.test(text[stop - 1])) {
				put(h(two === r ? "em" : "strong", inline(text.slice(from, stop), cite, depth + 1)), stop + two.length);
			} else at = from;
		} else if (r === "[") {
			const stop = find("]", at + 1), told = stop > 0 && stop - at < 1000 ? text.slice(at + 1, stop) : "";
			const end = told && text[stop + 1] === "(" ? find(")", stop) : -1;
			if (/^\d{1,4}$/.test(told)) put(cite(Number(told)), stop + 1);
			else if (told === "unsupported") put(pill(told, "bad"), stop + 1);
			else if (end > 0 && end - stop < 2000) put(anchor(text.slice(stop + 2, end), told), end + 1);
			else at += 1;
		} else if (text.startsWith("  \n", at)) put(h("br"), at + 3);
		else at += 1;
	}
	return [...out, text.slice(plain)];
}

const FENCE = /^ {0,3}(```|~~~)/, HEAD = /^ {0,3}(#{1,6})[ \t]+(.*)$/, ITEM = /^( {0,30})(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)$/, ROW = /^ {0,3}\|/, LINE = /^[ |:-]{3,2000}$/;

export function markdown(text, cite) {
	const lines = text.replaceAll("\r\n", "\n").split("\n"), root = document.createDocumentFragment(), told = (part) => inline(part, cite);
	let para = [], lists = [];
	const end = () => {
		if (para.length) (lists.at(-1)?.item ?? root).append(h("p", {dir: "auto"}, told(para.join("\n"))));
		para = [];
	};
	for (let at = 0; at < lines.length; at++) {
		const line = lines[at], head = HEAD.exec(line), item = ITEM.exec(line);
		const table = ROW.test(line) && LINE.test(lines[at + 1] ?? ""), leaves = lists.length && !item && /^\S/.test(line);
		if (item || head || table || leaves || FENCE.test(line)) end();
		if (leaves) lists = [];
		if (FENCE.test(line)) {
			const fence = FENCE.exec(line)[1], from = at + 1;
			while (++at < lines.length && !lines[at].trimStart().startsWith(fence));
			root.append(h("pre", {tabindex: 0}, h("code", lines.slice(from, at).join("\n"))));
		} else if (head) {
			root.append(h(`h${Math.min(6, head[1].length + 2)}`, {dir: "auto"}, told(head[2])));
		} else if (table) {
			const rows = [], cells = (row, kind) => h("tr", row.trim().slice(1).replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => h(kind, {dir: "auto"}, told(cell.trim()))));
			rows.push(cells(line, "th"));
			for (at += 1; ROW.test(lines[at + 1] ?? ""); at++) rows.push(cells(lines[at + 1], "td"));
			root.append(h("div.scroll", {tabindex: 0}, h("table", rows)));
		} else if (item) {
			const depth = item[1].length;
			while (lists.length > 1 && depth < lists.at(-1).depth) lists.pop();
			if (!lists.length || (depth > lists.at(-1).depth + 1 && lists.length < 8)) {
				const node = item[2] ? h("ol", {start: item[2]}) : h("ul");
				(lists.at(-1)?.item ?? root).append(node);
				lists.push({node, depth});
			}
			lists.at(-1).item = h("li", {dir: "auto"}, told(item[3]));
			lists.at(-1).node.append(lists.at(-1).item);
		} else if (line.trim()) para.push(line.replace(/^>\s?/, ""));
		else end();
	}
	end();
	return root;
}
