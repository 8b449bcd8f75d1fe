// The value of a slider stands beside it while it moves; the answer comes from the studio.
"use strict";

for (const slider of document.querySelectorAll("input[type=range][data-shown-in]")) {
  const shown = document.querySelector(`output[data-of="${slider.dataset.shownIn}"]`);
  const show = () => {
    const text = "perMille" in slider.dataset ? `${(slider.value / 10).toFixed(1)} %` : slider.value;
    shown.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  };
  slider.addEventListener("input", show);
  show();
}
