"""The loss curve of a run, as a table and as a picture that needs no library."""
import math


def write(path, points):
    """points: (step, tokens, seconds, loss).  Writes path.csv and path.svg."""
    with open(path + ".csv", "w") as f:
        f.write("step,tokens,seconds,loss\n")
        f.writelines("%d,%d,%.1f,%.4f\n" % p for p in points)
    if not points:
        return
    width, height, left, bottom = 640, 320, 56, 40
    most = max(p[1] for p in points)
    low = math.log10(min(p[3] for p in points)) - 0.05
    high = math.log10(max(p[3] for p in points)) + 0.05

    def x(tokens):
        return left + tokens / most * (width - left - 16)

    def y(loss):
        return 16 + (high - math.log10(loss)) / (high - low) * (height - bottom - 16)
    marks = [m * 10 ** e for e in range(-3, 2) for m in (1, 2, 5) if low <= math.log10(m * 10 ** e) <= high]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>']
    for m in marks:
        out.append(f'<path d="M{left} {y(m):.1f}H{width - 16}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y(m) + 4:.1f}" text-anchor="end">{m:g}</text>')
    for i in range(5):
        t = most * i / 4
        out.append(f'<text x="{x(t):.1f}" y="{height - 18}" text-anchor="middle">{t / 1e6:.1f} M</text>')
    line = " ".join(f"{x(p[1]):.1f},{y(p[3]):.1f}" for p in points)
    out.append(f'<polyline points="{line}" fill="none" stroke="#0b5fa5" stroke-width="1.5"/>'
               f'<text x="{width // 2}" y="{height - 3}" text-anchor="middle">tokens trained on</text>'
               f'<text x="6" y="12">loss (nats a token of the answers, log scale)</text></svg>')
    with open(path + ".svg", "w") as f:
        f.write("\n".join(out) + "\n")
