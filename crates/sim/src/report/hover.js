/* Reads charts out under the pointer and shows one run at a time. Everything it says is in the
   drawings already; without it the page shows all runs. */
(function () {
  'use strict';
  var tip = document.body.appendChild(document.createElement('div'));
  tip.id = 'tip';
  tip.hidden = true;

  function number(value) {
    return value >= 100 ? Math.round(value).toLocaleString('en') : String(+value.toPrecision(3));
  }

  function pair(value, large, largeName, small, smallName) {
    var total = Math.round(value / small), rest = total % (large / small);
    var whole = Math.floor(total * small / large);
    return (whole + ' ' + largeName) + (rest ? ' ' + rest + ' ' + smallName : '');
  }

  function words(letter, value) {
    if (letter === 'p') return (value * 100).toFixed(1) + ' %';
    if (letter === 'n') return number(value);
    if (value >= 86400) return pair(value, 86400, 'd', 3600, 'h');
    if (value >= 3600) return pair(value, 3600, 'h', 60, 'min');
    if (value >= 60) return pair(value, 60, 'min', 1, 's');
    return value >= 1 || value <= 0 ? number(Math.max(value, 0)) + ' s' : number(value * 1e3) + ' ms';
  }

  /* A scale as the drawing describes it, from pixels back to values. */
  function scale(text) {
    var p = text.split(','), low = +p[2], high = +p[3], from = +p[4], to = +p[5];
    return {
      from: from, to: to,
      value: function (px) {
        var part = Math.min(1, Math.max(0, (px - from) / (to - from)));
        return p[1] === '1' ? low * Math.pow(high / low, part) : low + part * (high - low);
      },
      words: function (value) { return words(p[0], value); }
    };
  }

  function where(svg, event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  }

  function show(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    var box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 14;
    if (x + box.width > innerWidth - 8) x = event.clientX - box.width - 14;
    if (y + box.height > innerHeight - 8) y = event.clientY - box.height - 14;
    tip.style.left = Math.max(4, x) + 'px';
    tip.style.top = Math.max(4, y) + 'px';
  }

  function height(line, x) {
    var points = line.points, last = points.length - 1, at = 0;
    if (last < 0 || x > points[last].x + 1) return null;
    while (at < last && points[at + 1].x <= x) at += 1;
    /* The first and last points of an area stand on its ground. */
    if (line.closest('.areas')) at = Math.min(Math.max(at, 1), last - 1);
    if (at === last || points[at + 1].x <= points[at].x) return points[at].y;
    var part = (x - points[at].x) / (points[at + 1].x - points[at].x);
    if (line.closest('.areas') && at + 1 === last) part = 0;
    return points[at].y + part * (points[at + 1].y - points[at].y);
  }

  function lines(svg) {
    var x = scale(svg.dataset.x), box = svg.dataset.box.split(',');
    var cursor = document.createElementNS(svg.namespaceURI, 'path');
    cursor.setAttribute('class', 'cursor');
    svg.addEventListener('pointermove', function (event) {
      var at = where(svg, event).x;
      if (at < x.from - 4 || at > x.to + 4) { cursor.remove(); show(event, ''); return; }
      var text = [x.words(x.value(at))];
      svg.querySelectorAll('polyline').forEach(function (line) {
        var y = height(line, at), of = scale(line.dataset.y);
        if (y !== null) text.push(line.dataset.name + ': ' + of.words(of.value(y)));
      });
      cursor.setAttribute('d', 'M' + at + ' ' + box[0] + 'V' + box[1]);
      svg.appendChild(cursor);
      show(event, text.join('\n'));
    });
    svg.addEventListener('pointerleave', function (event) { cursor.remove(); show(event, ''); });
  }

  /* Strokes by row, read from the paths when somebody first looks. */
  function strokes(svg) {
    var rows = [];
    svg.querySelectorAll('.who g').forEach(function (group) {
      var title = group.querySelector('title').textContent;
      group.querySelectorAll('path').forEach(function (path) {
        var level = +path.getAttribute('class').slice(1), stroke, form = /M(\d+) (\d+)h(\d+)/g;
        while ((stroke = form.exec(path.getAttribute('d')))) {
          var row = rows[+stroke[2]] = rows[+stroke[2]] || [];
          row.push([+stroke[1], +stroke[1] + +stroke[3], title, level]);
        }
      });
    });
    svg.querySelectorAll('.who title').forEach(function (title) { title.remove(); });
    return rows;
  }

  function gantt(svg) {
    var x = scale(svg.dataset.x), grid = svg.dataset.grid.split(',').map(Number);
    var names = svg.dataset.rows.split('\n'), rows = null;
    var held = ['up to a third in use', 'up to two thirds in use', 'in use'];
    svg.addEventListener('pointermove', function (event) {
      rows = rows || strokes(svg);
      var at = where(svg, event), row = Math.floor((at.y - grid[0]) / grid[1]);
      if (at.x < x.from || at.x > x.to || names[row] === undefined) { show(event, ''); return; }
      var seconds = x.value(at.x), column = (seconds + grid[3]) / grid[2];
      var found = (rows[row] || []).find(function (s) { return s[0] <= column && column < s[1]; });
      var text = names[row] + '\n';
      if (!found) { show(event, text + x.words(seconds) + ': idle'); return; }
      var from = x.words(Math.max(0, found[0] * grid[2] - grid[3]));
      var until = x.words(found[1] * grid[2] - grid[3]);
      show(event, text + found[2] + '\n' + from + ' to ' + until + ', ' + held[found[3]]);
    });
    svg.addEventListener('pointerleave', function (event) { show(event, ''); });
  }

  document.querySelectorAll('svg.lines, svg.areas').forEach(lines);
  document.querySelectorAll('svg.gantt').forEach(gantt);

  var choice = document.querySelector('.switch');
  if (choice) {
    var choose = function (run) {
      document.querySelectorAll('section.run').forEach(function (section) {
        section.hidden = section.dataset.run !== run;
      });
      choice.querySelectorAll('button').forEach(function (button) {
        button.setAttribute('aria-pressed', String(button.dataset.run === run));
      });
    };
    choice.hidden = false;
    choice.addEventListener('click', function (event) {
      if (event.target.dataset.run) choose(event.target.dataset.run);
    });
    choose('0');
  }
})();
