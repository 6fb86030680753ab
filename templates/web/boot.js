// Runs before the first paint (a classic script in <head>): sets the language and the theme, so that
// nothing flashes in the wrong colours. Everything else is in app.js.
"use strict";
(() => {
  const stored = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage may be forbidden: then the choice lasts until the page is closed
    }
  };
  const root = document.documentElement;
  const lang = stored("zayavka.lang");
  const theme = stored("zayavka.theme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.lang = lang === "ru" || lang === "en" ? lang : navigator.language.toLowerCase().startsWith("ru") ? "ru" : "en";
  root.dataset.theme = theme === "light" || theme === "dark" ? theme : dark ? "dark" : "light";
})();
