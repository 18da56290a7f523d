// Code under review: lines are marked, or none is; and its lines are marked as they run
// on the stage beside it. The form works without this, and each line says when it ran.

/** @param {HTMLFormElement} form @param {HTMLElement | null} stage */
export function reviewing(form, stage) {
  const none = /** @type {HTMLInputElement} */ (form.querySelector("[name=none]"));
  const lines = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[name=line]")]);
  none.addEventListener("change", () => {
    for (const one of none.checked ? lines : []) {
      one.checked = false;
    }
  });
  form.addEventListener("change", () => {
    none.checked &&= !lines.some((one) => one.checked);
  });

  /** Marks the line that runs in the row where the stage stands. */
  function mark() {
    const row = stage?.dataset.row ?? "";
    for (const ran of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-ran]"))) {
      ran.classList.toggle("now", ran.dataset.ran === row);
    }
    for (const li of form.querySelectorAll("li")) {
      li.classList.toggle("running", li.querySelector(".now") !== null);
    }
  }
  stage?.addEventListener("relock:row", mark);
  mark();
}
