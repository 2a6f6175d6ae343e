// Try: the visitor guesses first, then the model.

import { ask, find, guarded, make, percent, plain } from "./common.js";

export function forgetQuestion() {
  find("picture").hidden = true;
  find("choices").replaceChildren();
  find("verdict").textContent = "";
  find("next").textContent = "Show a picture";
}

find("next").addEventListener("click", guarded(async () => {
  const { picture, choices } = await ask("ask");
  forgetQuestion();
  Object.assign(find("picture"), { src: picture, hidden: false });
  find("choices").replaceChildren(...choices.map((name) => {
    const button = make("button", { textContent: plain(name), className: "plain" });
    button.dataset.name = name;
    button.addEventListener("click", guarded(() => guess(name)));
    return button;
  }));
  find("choices").firstChild.focus();
}));

async function guess(name) {
  for (const button of find("choices").children) button.disabled = true;
  const answer = await ask("guess", { name });
  for (const button of find("choices").children) {
    if (button.dataset.name === answer.true) Object.assign(button, { className: "right", textContent: `✓ ${plain(answer.true)}` });
    else if (button.dataset.name === name) Object.assign(button, { className: "wrong", textContent: `✗ ${plain(name)}` });
  }
  const you = name === answer.true ? "You are right" : "You are wrong";
  const it = answer.model === answer.true ? "the model is right" : `the model says ${plain(answer.model)}`;
  find("verdict").textContent = `It is ${plain(answer.true)}. ${you}, ${it}.`;
  const share = (right) => `${right} of ${answer.asked}, ${percent(right / answer.asked)}`;
  find("yours").textContent = share(answer.right);
  find("its").textContent = share(answer.model_right);
  find("score").hidden = false;
  find("next").textContent = "Next picture";
  find("next").focus();
}
