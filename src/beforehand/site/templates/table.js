(function () {
  "use strict";
  function text(row, column) {
    var cell = row.cells[column], words = "";
    Array.prototype.forEach.call(cell ? cell.childNodes : [], function (node) {
      var aside = node.nodeType === 1 && (node.classList.contains("why") || node.tagName === "ABBR");
      words += aside ? "" : node.textContent;
    });
    return words.trim();
  }
  function number(words) {
    var plain = words.replace(/\u2212/g, "-").replace(/[\u202f\u00a0+%]/g, "");
    return plain !== "" && isFinite(Number(plain)) ? Number(plain) : null;
  }
  function order(a, b) {
    var x = number(a), y = number(b);
    if (x !== null && y !== null) { return x - y; }
    if (x !== null || y !== null) { return x !== null ? -1 : 1; }
    return a < b ? -1 : a > b ? 1 : 0;
  }
  function sort(table, heads, column) {
    var down = heads[column].getAttribute("aria-sort") === "ascending";
    var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = text(a, column), y = text(b, column);
      var lone = (number(x) === null) - (number(y) === null);
      return lone || (down ? order(y, x) : order(x, y));
    });
    rows.forEach(function (row) { body.appendChild(row); });
    Array.prototype.forEach.call(heads, function (head) { head.removeAttribute("aria-sort"); });
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  }
  function makeSortable(table) {
    var heads = table.tHead.rows[0].cells;
    Array.prototype.forEach.call(heads, function (head, column) {
      if (head.hasAttribute("data-fixed")) { return; }
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () { sort(table, heads, column); });
    });
  }
  function makeChoice(table, bar, column, words, narrow) {
    var label = document.createElement("label"), select = document.createElement("select");
    var seen = {}, names = [];
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      var name = text(row, column);
      if (!Object.prototype.hasOwnProperty.call(seen, name)) { seen[name] = 1; names.push(name); }
    });
    if (names.length < 2) { return null; }
    select.append(new Option("all", ""));
    names.sort().forEach(function (name) { select.append(new Option(name, "=" + name)); });
    label.append(words + " ", select);
    bar.append(label);
    select.addEventListener("change", narrow);
    return function (row) { return !select.value || "=" + text(row, column) === select.value; };
  }
  function makeFilter(table, box) {
    var bar = document.createElement("div"), label = document.createElement("label");
    var input = document.createElement("input"), said = document.createElement("span");
    var tests = [];
    function narrow() {
      var wanted = input.value.toLowerCase(), rows = table.tBodies[0].rows, left = 0;
      Array.prototype.forEach.call(rows, function (row) {
        var fits = tests.every(function (test) { return test(row); });
        row.hidden = !fits || row.textContent.toLowerCase().indexOf(wanted) < 0;
        left += row.hidden ? 0 : 1;
      });
      said.textContent = left < rows.length ? left + " of " + rows.length : "";
    }
    input.type = "search";
    said.setAttribute("role", "status");
    bar.className = "filter";
    label.append("Show only rows with ", input);
    bar.append(label);
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      var test = head.hasAttribute("data-choose") &&
        makeChoice(table, bar, column, head.textContent, narrow);
      if (test) { tests.push(test); }
    });
    bar.append(said);
    box.parentNode.insertBefore(bar, box);
    input.addEventListener("input", narrow);
  }
  document.querySelectorAll("table.filterable").forEach(function (table) {
    makeFilter(table, table.closest(".scroll"));
  });
  document.querySelectorAll("table.sortable").forEach(makeSortable);
}());
