//! Flowcharts: boxes in layers, joined by lines that bend between the layers.
//!
//! `parse` turns the source into nodes and edges, `layers` lays them out, and this file draws them.
//! Subgraphs are parsed but not framed; styles are ignored.

use pi_tui::visible_width;

use super::canvas::{Canvas, CanvasPoint, Stroke};

mod layers;
mod parse;

use layers::{LayerLink, LayerSlot, Layers};
use parse::Flowchart;

/// The direction in which layers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowDirection {
    Down,
    Right,
}

/// Parses and draws a chart. `direction` is the word after its kind.
pub(super) fn draw(direction: Option<&str>, lines: &[&str]) -> Option<Canvas> {
    let (flow, reversed) = match direction.unwrap_or("TB") {
        "TB" | "TD" => (FlowDirection::Down, false),
        "BT" => (FlowDirection::Down, true),
        "LR" => (FlowDirection::Right, false),
        "RL" => (FlowDirection::Right, true),
        _ => return None,
    };
    let mut chart = Flowchart::parse(lines)?;
    if reversed {
        chart.reverse();
    }
    let layers = Layers::new(&chart, flow)?;
    let mut painter = FlowchartPainter {
        chart: &chart,
        layers: &layers,
        flow,
        canvas: Canvas::default(),
    };
    painter.paint();
    Some(painter.canvas)
}

struct FlowchartPainter<'a> {
    chart: &'a Flowchart,
    layers: &'a Layers,
    flow: FlowDirection,
    canvas: Canvas,
}

impl<'a> FlowchartPainter<'a> {
    /// Returns the point at a position along and across the flow.
    fn point(&self, along: usize, across: usize) -> CanvasPoint {
        match self.flow {
            FlowDirection::Down => CanvasPoint {
                row: along,
                column: across,
            },
            FlowDirection::Right => CanvasPoint {
                row: across,
                column: along,
            },
        }
    }

    fn paint(&mut self) {
        for slot in &self.layers.slots {
            if let Some(node) = slot.node.and_then(|node| self.chart.nodes.get(node)) {
                let at = self.point(self.layers.start(slot), slot.center - slot.across / 2);
                let size = match self.flow {
                    FlowDirection::Down => [slot.across, slot.along],
                    FlowDirection::Right => [slot.along, slot.across],
                };
                self.canvas.labeled_box(at, size, node.corners, &node.lines);
            }
        }
        for link in &self.layers.links {
            self.draw_line(link);
        }
        for link in &self.layers.links {
            self.draw_marks(link);
        }
    }

    fn ends(&self, link: &LayerLink) -> Option<(&'a LayerSlot, &'a LayerSlot)> {
        Some((
            self.layers.slots.get(link.from)?,
            self.layers.slots.get(link.to)?,
        ))
    }

    fn draw_line(&mut self, link: &LayerLink) {
        let Some((from, to)) = self.ends(link) else {
            return;
        };
        let begin = self.layers.end(from) - 1;
        let next = self.layers.start(to);
        // A line ends at the arrowhead before a box, otherwise on its border. A slot without a box
        // is all line.
        let end = match (to.node, link.head) {
            (None, _) => self.layers.end(to) - 1,
            (Some(_), true) => next - 1,
            (Some(_), false) => next,
        };
        let bend = begin + 2 + link.track;
        let spots = [
            self.point(begin, from.center),
            self.point(bend, from.center),
            self.point(bend, to.center),
            self.point(end, to.center),
        ];
        let [start, first, second, stop] = spots;
        if from.center == to.center {
            self.canvas.line(start, stop, link.stroke);
        } else {
            self.canvas.line(start, first, link.stroke);
            self.canvas.line(first, second, link.stroke);
            self.canvas.line(second, stop, link.stroke);
        }
    }

    fn draw_marks(&mut self, link: &LayerLink) {
        let Some((from, to)) = self.ends(link) else {
            return;
        };
        let [forward, backward] = match self.flow {
            FlowDirection::Down => ["▼", "▲"],
            FlowDirection::Right => ["▶", "◀"],
        };
        let next = self.layers.start(to);
        if link.head && to.node.is_some() {
            let point = self.point(next - 1, to.center);
            self.canvas.text(point, forward);
        }
        if link.tail && from.node.is_some() {
            let point = self.point(self.layers.end(from), from.center);
            self.canvas.text(point, backward);
        }
        if link.label.is_empty() {
            return;
        }
        match self.flow {
            FlowDirection::Down => {
                let point = self.point(next - 1, to.center + 1);
                self.canvas.text(point, &link.label);
            }
            FlowDirection::Right => {
                let before = next.saturating_sub(visible_width(&link.label) + 4);
                let point = self.point(before, to.center);
                self.canvas.text(point, &format!(" {} ", link.label));
            }
        }
    }
}

/// Returns the stroke of a line with this mark.
fn stroke_of(mark: &str) -> Stroke {
    if mark.contains('.') {
        Stroke::Dotted
    } else {
        Stroke::Solid
    }
}

#[cfg(test)]
mod tests {
    use super::super::mermaid_to_text;
    use pretty_assertions::assert_eq;

    fn render(source: &str) -> String {
        mermaid_to_text(source).unwrap().join("\n")
    }

    #[test]
    fn boxes_are_laid_out_downwards() {
        let source = "flowchart TD\n A[Start] --> B{Is it?}\n B -->|yes| C(Do it)\n B -- no --> D";
        assert_eq!(
            render(source),
            "     ┌───────┐
     │ Start │
     └───┬───┘
         │
         ▼
    ╭────────╮
    │ Is it? │
    ╰────┬───╯
         │
    ┌────┴────┐
    ▼yes      ▼no
╭───────╮   ┌───┐
│ Do it │   │ D │
╰───────╯   └───┘"
        );
    }

    #[test]
    fn boxes_are_laid_out_to_the_right() {
        assert_eq!(
            render("graph LR; A-->|go|B; A-.->C"),
            "              ┌───┐
      ┌─ go ─▶│ B │
┌───┐ │       └───┘
│ A ├─┤
└───┘ ┆       ┌───┐
      └╌╌╌╌╌╌▶│ C │
              └───┘"
        );
    }

    #[test]
    fn long_and_backward_edges_pass_through_layers() {
        for source in [
            "graph TD\n A-->B-->C\n A-->C",
            "graph TD\n A-->B-->C-->A",
            "graph LR\n A & B --> C & D\n C --- A",
            "graph BT\n A-->B",
            "graph TD\n A-->A",
        ] {
            let drawing = render(source);
            for name in ["A", "B"] {
                let count = drawing.matches(name).count();
                assert!(count == 1 || !source.contains(name), "{drawing}");
            }
        }
        assert!(render("graph TD\n A-->B-->C-->A").contains('▲'));
        assert!(render("graph BT\n A-->B").find('B') < render("graph BT\n A-->B").find('A'));
    }
}
