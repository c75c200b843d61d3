// Draws a slash, a bar and a cross, and says that they are 1, 7 and 4; then how sure the page is of the slash.
(async () => {
  const { line, clear, learn, guess } = await ready, text = document.getElementById("state");
  const shapes = { 1: [[8, 2, 8, 13]], 7: [[3, 3, 12, 3], [12, 3, 6, 13]], 4: [[3, 8, 13, 8], [8, 3, 8, 13]] };
  const draw = (digit) => {
    clear();
    for (const [x, y, toX, toY] of shapes[digit]) line({ x, y }, { x: toX, y: toY });
  };
  const before = text.textContent;
  for (const digit of Object.keys(shapes)) {
    draw(digit);
    const { learner } = await ready;
    if (before === "") await learn(learner, Number(digit));
  }
  const sure = [];
  for (const digit of Object.keys(shapes)) {
    draw(digit);
    const shares = await guess();
    sure.push(`${digit}: ${shares.indexOf(Math.max(...shares)) === Number(digit) && shares[digit] > 0.8 ? "known" : shares}`);
  }
  return `${before || "a new start"}; ${sure.join(", ")}; ${text.textContent}`;
})();
