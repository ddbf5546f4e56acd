// Keys for labelling: figures choose, n saves, k skips, u undoes. Every form works without this.
"use strict";
(() => {
  const questions = [...document.querySelectorAll("[data-question]")];
  let current = -1;

  const answered = (question) => question.querySelector("input:checked") || question.querySelector("input[type=number]")?.value;

  function go(place) {
    questions[current]?.classList.remove("active");
    current = Math.min(Math.max(place, 0), questions.length - 1);
    const question = questions[current];
    if (!question) return;
    question.classList.add("active");
    if (place > 0) question.scrollIntoView({ block: "nearest" });
  }

  function choose(figure) {
    const boxes = questions[current]?.querySelectorAll("input[type=radio], input[type=checkbox]");
    const box = boxes?.[figure - 1];
    if (!box) return;
    box.checked = box.type === "radio" ? true : !box.checked;
    if (box.type === "radio") go(current + 1);
  }

  function press(key) {
    let target = document.querySelector(`[data-key="${key}"]`);
    if (key === "n" && questions.length && !questions.some(answered)) target = document.querySelector('[data-key="k"]');
    if (target instanceof HTMLFormElement) target.requestSubmit();
    else target?.click();
  }

  const writes = (element) => element.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || writes(event.target)) return;
    if (/^[1-9]$/.test(event.key)) choose(Number(event.key));
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
  if (questions.length) go(Math.max(questions.findIndex((question) => !answered(question)), 0));
})();
