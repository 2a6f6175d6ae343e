// Why: what speaks for the best name and against the next one.

import { bar, find, guarded, make, percent, plain, state } from "./common.js";
import { answers, asked, selected } from "./naming.js";

export const forgetReasons = () => find("reasons").replaceChildren();

function near(title, classes, weighs) {
  const most = Math.max(...classes.map((one) => one.weight));
  const items = classes.map((one) => {
    const item = make("li");
    if (one.picture) item.append(make("img", { src: one.picture, alt: `A picture of ${plain(one.name)}` }));
    const counts = weighs ? `counts ${percent(one.weight / most)}` : `close ${one.closeness.toFixed(2)}`;
    item.append(make("strong", { textContent: plain(one.name) }), make("br"), counts, make("br"), `looks like it: ${percent(one.likeness)}`);
    return item;
  });
  return [make("h3", { textContent: title }), make("ul", { className: "near", ariaLabel: title }, ...items)];
}

find("why").addEventListener("click", guarded(async () => {
  const [first, second] = answers[selected].names;
  const why = await asked("why", { first, second }, [state.photos[selected]]);
  const parts = [];
  if (why.attributes.length) {
    const most = Math.max(...why.attributes.map((one) => Math.abs(one.part)));
    parts.push(make("h3", { textContent: `What decided between ${plain(first)} and ${plain(second)}` }));
    parts.push(...why.attributes.map((one) => bar(plain(one.name), Math.abs(one.part) / most, `${one.part < 0 ? "against" : "for"}`, one.part < 0)));
  }
  const explained = why.weighs
    ? "For every class the model learns most from the known classes whose descriptions are nearest to it. Counts: how much, against the nearest. Looks like it: how the model shares the photo out among these."
    : "The known classes whose descriptions are nearest. Close: 1 means the same description. Looks like it: how the model shares the photo out among these.";
  const alone = find("refine").checked ? " All this is of the photo by itself, before the model learnt from the others." : "";
  parts.push(make("p", { className: "note", textContent: explained + alone }));
  for (const name of [first, second]) parts.push(...near(`Known classes nearest to ${plain(name)}`, why.near[name], why.weighs));
  find("reasons").replaceChildren(...parts);
}));
