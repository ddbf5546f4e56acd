// Keys for labelling: a digit chooses and stays, Enter goes on, n saves, k skips, u undoes. Every form works without this.
"use strict";
(() => {
  const questions = [...document.querySelectorAll("[data-question]")];
  const said = document.getElementById("chosen");
  let current = -1;

  const answered = (question) => question.querySelector("input:checked") || question.querySelector("input[type=number]")?.value;

  function go(place, scroll = true) {
    questions[current]?.classList.remove("active");
    current = Math.min(Math.max(place, 0), questions.length - 1);
    const question = questions[current];
    if (!question) return;
    question.classList.add("active");
    if (scroll && place > 0) question.scrollIntoView({ block: "nearest" });
  }

  /* The next question, or behind the last one the button that saves: nothing is saved by going on. */
  function goOn() {
    document.activeElement?.blur();
    if (current < questions.length - 1) return go(current + 1);
    const save = document.querySelector("#answer [data-key=n]");
    save?.scrollIntoView({ block: "nearest" });
    save?.focus();
  }

  /* What was chosen stays in sight: the question does not change. */
  function choose(digit) {
    const question = questions[current];
    const box = question?.querySelector(`[data-digit="${digit}"]`);
    if (!box) return;
    box.checked = box.type === "radio" ? true : !box.checked;
    question.scrollIntoView({ block: "nearest" });
    const name = question.querySelector("legend").textContent.trim();
    if (said) said.textContent = `${name}: ${box.checked ? "" : "not "}${box.parentElement.lastChild.textContent.trim()}`;
  }

  function press(key) {
    const target = document.querySelector(`[data-key="${key}"]`);
    if (target instanceof HTMLFormElement) target.requestSubmit();
    else target?.click();
  }

  const writes = (element) => element.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
  const acts = (element) => element.matches("a, button, summary, textarea, select");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const plain = event.target === document.body || event.target.matches(".case, main");
    if (event.key === "Enter" && questions.length && !acts(event.target) && (plain || event.target.closest("#answer"))) goOn();
    else if (writes(event.target)) return;
    else if (/^[0-9]$/.test(event.key)) choose(event.key);
    else if (event.key === "ArrowDown" && event.target === document.body) go(current + 1);
    else if (event.key === "ArrowUp" && event.target === document.body) go(current - 1);
    else if ("nku".includes(event.key)) press(event.key);
    else return;
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    const place = questions.indexOf(event.target.closest("[data-question]"));
    if (place >= 0) go(place);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-quote]");
    if (button) document.getElementById(button.dataset.quote).value = button.textContent;
  });
  if (questions.length) go(Math.max(questions.findIndex((question) => !answered(question)), 0), false);
})();
