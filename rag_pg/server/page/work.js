import {ago, any, app, button, code, duration, empty, h, money, name, number, part, pill, plural, post, said, say, sections, short, table} from "./core.js";
import {bars} from "./plots.js";

const limit = (used, whole, told) => whole == null ? "no limit" : [h("meter", {max: whole, value: used, high: 0.9 * whole, label: told}), ` ${told}`];
const VIEWS = {
	async Queue() {
		const counts = (await any("jobs/counts")).filter((r) => r.waiting + r.running + r.dead);
		return table(["Collection", "Waiting", "Running", "Delayed", "Failed", "Oldest", "Jobs a minute", "Time left", "Why"], counts.map((r) => [name(r.collection_name),
			number(r.waiting), number(r.running), number(r.delayed), [number(r.dead), r.dead > 0 && [" ", button("Try again", async () => {
				say(`${plural((await post("jobs/retry", {collection: r.collection_name})).count, "job")} queued again`);
			})]], r.lag ? duration(r.lag) : "–", number(Math.round(60 * r.rate)), r.eta ? duration(r.eta) : r.eta == null ? "unknown" : "–", r.reason && said(r.reason)]), "Nothing waits.", "All that was put is searchable.");
	},
	async Workers() {
		return table(["Worker", "Collections", "Jobs now", "Jobs a minute", "Seen"], (await any("workers")).map((r) => [name(r.worker), short(r.collections?.join(", ") ?? "all"), number(r.leased_jobs),
			number(Math.round(60 * Object.values(r.rates).reduce((sum, rate) => sum + rate, 0))), ago(r.seen_at)]), "No worker was seen in the last minute.", "Documents wait for one: ", code("rag-pg worker"));
	},
	async Budgets() {
		const of = (used, whole) => limit(used, whole, `${number(used)} of ${number(whole)}`);
		return table(["Provider", "Requests a minute", "Tokens a minute", "Spent", "Now"], (await any("budgets")).map((r) => [name(r.provider), of(r.window_requests, r.requests_per_minute), of(r.window_tokens, r.tokens_per_minute),
			limit(r.spent, r.spend_cap, `${money(r.spent)} of ${money(r.spend_cap)} ${r.spend_period === "day" ? "a day" : "in all"}`), r.reason ? pill(short(r.reason, 300), "warn") : pill("may be asked", "good")]),
			"No provider has a budget.", "One in SQL: ", code("SELECT rag.set_budget('openai', requests_per_minute => 500)"));
	},
	async "Cost by day"() {
		const days = await any("usage", {since: new Date(Date.now() - 29 * 86400e3).toISOString().slice(0, 10)}), sum = (key) => days.reduce((total, r) => total + r[key], 0);
		if (!days.length) return empty("No model was asked in the last 30 days.", "What runs here costs nothing.");
		days.sort((a, b) => (a.day < b.day ? -1 : 1));
		return [h("p", `${money(sum("cost"))} in 30 days: ${plural(sum("answers"), "answer")}, ${plural(sum("calls"), "call")}, ${number(sum("prompt_tokens") + sum("answer_tokens"))} tokens`),
			sum("cost") > 0 && bars("Cost by day, US dollars", days.map((r) => ({name: r.day, value: r.cost, told: `${r.day}: ${money(r.cost)}, ${plural(r.answers, "answer")}`})))];
	},
};

export function open() {
	const all = sections(VIEWS), watch = setInterval(() => {
		if (!document.hidden) ["Queue", "Workers"].forEach((r, n) => part(all[n].lastChild, VIEWS[r]));
	}, 5000);
	app.signal.addEventListener("abort", () => clearInterval(watch));
	return all;
}
