//! Flowcharts: boxes in layers, joined by lines that bend between the layers.
//!
//! `read` turns the source into nodes and edges, `layers` puts them in their places, and this file
//! draws them. Subgraphs are read but not framed; styles are left out.

use super::canvas::{Canvas, Spot, Stroke};
use crate::text::visible_width;

mod layers;
mod read;

use layers::{Layers, Link, Slot};
use read::Chart;

/// Where the layers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Down,
    Right,
}

/// Reads and draws a chart; `direction` is the word behind its kind.
pub(super) fn draw(direction: Option<&str>, lines: &[&str]) -> Option<Canvas> {
    let (flow, reversed) = match direction.unwrap_or("TB") {
        "TB" | "TD" => (Flow::Down, false),
        "BT" => (Flow::Down, true),
        "LR" => (Flow::Right, false),
        "RL" => (Flow::Right, true),
        _ => return None,
    };
    let mut chart = Chart::read(lines)?;
    if reversed {
        chart.reverse();
    }
    let layers = Layers::new(&chart, flow)?;
    let mut painter = Painter {
        chart: &chart,
        layers: &layers,
        flow,
        canvas: Canvas::default(),
    };
    painter.paint();
    Some(painter.canvas)
}

struct Painter<'a> {
    chart: &'a Chart,
    layers: &'a Layers,
    flow: Flow,
    canvas: Canvas,
}

impl<'a> Painter<'a> {
    /// Returns the spot at a distance along the flow and across it.
    fn spot(&self, along: usize, across: usize) -> Spot {
        match self.flow {
            Flow::Down => Spot {
                row: along,
                column: across,
            },
            Flow::Right => Spot {
                row: across,
                column: along,
            },
        }
    }

    fn paint(&mut self) {
        for slot in &self.layers.slots {
            if let Some(node) = slot.node.and_then(|node| self.chart.nodes.get(node)) {
                let at = self.spot(self.layers.start(slot), slot.center - slot.across / 2);
                let size = match self.flow {
                    Flow::Down => [slot.across, slot.along],
                    Flow::Right => [slot.along, slot.across],
                };
                self.canvas.labeled_box(at, size, node.corners, &node.lines);
            }
        }
        for link in &self.layers.links {
            self.line_of(link);
        }
        for link in &self.layers.links {
            self.marks_of(link);
        }
    }

    fn ends(&self, link: &Link) -> Option<(&'a Slot, &'a Slot)> {
        Some((
            self.layers.slots.get(link.from)?,
            self.layers.slots.get(link.to)?,
        ))
    }

    fn line_of(&mut self, link: &Link) {
        let Some((from, to)) = self.ends(link) else {
            return;
        };
        let begin = self.layers.end(from) - 1;
        let next = self.layers.start(to);
        // A line ends at the head before the box, else on its border; a slot without a box is all line.
        let end = match (to.node, link.head) {
            (None, _) => self.layers.end(to) - 1,
            (Some(_), true) => next - 1,
            (Some(_), false) => next,
        };
        let bend = begin + 2 + link.track;
        let spots = [
            self.spot(begin, from.center),
            self.spot(bend, from.center),
            self.spot(bend, to.center),
            self.spot(end, to.center),
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

    fn marks_of(&mut self, link: &Link) {
        let Some((from, to)) = self.ends(link) else {
            return;
        };
        let [forward, backward] = match self.flow {
            Flow::Down => ["▼", "▲"],
            Flow::Right => ["▶", "◀"],
        };
        let next = self.layers.start(to);
        if link.head && to.node.is_some() {
            let spot = self.spot(next - 1, to.center);
            self.canvas.text(spot, forward);
        }
        if link.tail && from.node.is_some() {
            let spot = self.spot(self.layers.end(from), from.center);
            self.canvas.text(spot, backward);
        }
        if link.label.is_empty() {
            return;
        }
        match self.flow {
            Flow::Down => {
                let spot = self.spot(next - 1, to.center + 1);
                self.canvas.text(spot, &link.label);
            }
            Flow::Right => {
                let before = next.saturating_sub(visible_width(&link.label) + 4);
                let spot = self.spot(before, to.center);
                self.canvas.text(spot, &format!(" {} ", link.label));
            }
        }
    }
}

/// How a line is drawn whose source uses this mark.
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

    fn drawn(source: &str) -> String {
        mermaid_to_text(source).unwrap().join("\n")
    }

    #[test]
    fn boxes_flow_down() {
        let source = "flowchart TD\n A[Start] --> B{Is it?}\n B -->|yes| C(Do it)\n B -- no --> D";
        assert_eq!(
            drawn(source),
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
    fn boxes_flow_to_the_right() {
        assert_eq!(
            drawn("graph LR; A-->|go|B; A-.->C"),
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
    fn long_and_backward_edges_pass_the_layers_between() {
        for source in [
            "graph TD\n A-->B-->C\n A-->C",
            "graph TD\n A-->B-->C-->A",
            "graph LR\n A & B --> C & D\n C --- A",
            "graph BT\n A-->B",
            "graph TD\n A-->A",
        ] {
            let drawing = drawn(source);
            for name in ["A", "B"] {
                let there = drawing.matches(name).count();
                assert!(there == 1 || !source.contains(name), "{drawing}");
            }
        }
        assert!(drawn("graph TD\n A-->B-->C-->A").contains('▲'));
        assert!(drawn("graph BT\n A-->B").find('B') < drawn("graph BT\n A-->B").find('A'));
    }
}
