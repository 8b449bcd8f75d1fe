// What the pages need beyond htmx: dropping a file, copying a text, marking where one is.
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  navigator.clipboard.writeText(text).then(() => {
    const said = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = said; }, 1500);
  });
});

// A select or a box that sends its form at once has a button for those without scripts; it is not needed here.
document.addEventListener("change", (event) => {
  const field = event.target.closest("[data-send]");
  if (field && field.form) field.form.requestSubmit();
});

for (const place of document.querySelectorAll("[data-drop]")) {
  const field = place.querySelector("input[type=file]");
  const mark = (on) => (event) => { event.preventDefault(); place.classList.toggle("over", on); };
  place.addEventListener("dragover", mark(true));
  place.addEventListener("dragleave", mark(false));
  place.addEventListener("drop", (event) => {
    mark(false)(event);
    if (event.dataTransfer.files.length) {
      field.files = event.dataTransfer.files;
      field.form.requestSubmit();
    }
  });
  field.addEventListener("change", () => { if (field.files.length) field.form.requestSubmit(); });
  field.form.addEventListener("submit", () => { place.classList.add("sending"); });
}

for (const field of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(field.dataset.filter);
  field.addEventListener("input", () => {
    const asked = field.value.toLowerCase();
    for (const item of list.children) item.hidden = !item.textContent.toLowerCase().includes(asked);
  });
}

document.documentElement.classList.add("scripted");
