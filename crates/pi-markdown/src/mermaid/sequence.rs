//! Sequence diagrams: participants side by side, with messages between their lifelines from top to
//! bottom.

use std::ops::Range;

use pi_tui::visible_width;

use super::canvas::{Canvas, CanvasPoint, Corners, Stroke};
use super::label_lines;

/// Larger diagrams are shown as code.
const MAX_PARTICIPANTS: usize = 16;
/// Columns between the boxes of two participants.
const GAP: usize = 2;
/// Width of the loop of a message to oneself.
const LOOP: usize = 3;

struct Participant {
    id: String,
    label: String,
    /// The column of its lifeline.
    column: usize,
}

enum SequenceStep {
    Message {
        from: usize,
        to: usize,
        text: String,
        stroke: Stroke,
        head: &'static str,
    },
    Note {
        first: usize,
        last: usize,
        lines: Vec<String>,
    },
    /// The start, a part or the end of a block such as a loop.
    Divider(String),
}

/// The rows and columns a note covers.
type NoteArea = (Range<usize>, Range<usize>);

#[derive(Default)]
struct SequenceDiagram {
    title: Option<String>,
    participants: Vec<Participant>,
    steps: Vec<SequenceStep>,
    numbered: Option<usize>,
}

/// Parses and draws a diagram.
pub(super) fn draw(lines: &[&str]) -> Option<Canvas> {
    let mut sequence = SequenceDiagram::default();
    for (index, line) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        if sequence.parse_line(line).is_none() && !is_last {
            return None;
        }
    }
    let count = sequence.participants.len();
    if count == 0 || count > MAX_PARTICIPANTS {
        return None;
    }
    sequence.place();
    Some(sequence.paint())
}

/// The arrows, longest first, with their stroke and head.
const ARROWS: [(&str, Stroke, &str); 8] = [
    ("-->>", Stroke::Dotted, "▶"),
    ("->>", Stroke::Solid, "▶"),
    ("--x", Stroke::Dotted, "×"),
    ("--)", Stroke::Dotted, ")"),
    ("-->", Stroke::Dotted, "─"),
    ("-x", Stroke::Solid, "×"),
    ("-)", Stroke::Solid, ")"),
    ("->", Stroke::Solid, "─"),
];

impl SequenceDiagram {
    /// Parses a line of the source. Returns `None` if it is invalid.
    fn parse_line(&mut self, line: &str) -> Option<()> {
        let line = line.trim_end_matches(';');
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "participant" | "actor" => {
                let (id, label) = rest.split_once(" as ").unwrap_or((rest, rest));
                let index = self.participant(id)?;
                let label = label_lines(label).join(" ");
                self.participants.get_mut(index)?.label = label;
            }
            "autonumber" => self.numbered = Some(0),
            "activate" | "deactivate" | "destroy" | "create" | "box" => {}
            "title" | "title:" => self.title = Some(rest.to_owned()),
            "loop" | "alt" | "else" | "opt" | "par" | "and" | "critical" | "option" | "break"
            | "rect" | "end" => self.steps.push(SequenceStep::Divider(line.to_owned())),
            "Note" | "note" => self.note(rest)?,
            _ => self.message(line)?,
        }
        Some(())
    }

    fn participant(&mut self, id: &str) -> Option<usize> {
        let id = id.trim().trim_start_matches(['+', '-']);
        if id.is_empty() {
            return None;
        }
        let known = self.participants.iter().position(|known| known.id == id);
        Some(known.unwrap_or_else(|| {
            self.participants.push(Participant {
                id: id.to_owned(),
                label: id.to_owned(),
                column: 0,
            });
            self.participants.len() - 1
        }))
    }

    fn note(&mut self, rest: &str) -> Option<()> {
        let (position, text) = rest.split_once(':')?;
        let ids = ["over ", "left of ", "right of "]
            .iter()
            .find_map(|words| position.trim().strip_prefix(words))?;
        let mut participants = Vec::new();
        for id in ids.split(',') {
            participants.push(self.participant(id)?);
        }
        self.steps.push(SequenceStep::Note {
            first: participants.iter().copied().min()?,
            last: participants.iter().copied().max()?,
            lines: label_lines(text),
        });
        Some(())
    }

    fn message(&mut self, line: &str) -> Option<()> {
        let (endpoints, text) = line.split_once(':')?;
        let at = endpoints.find('-')?;
        let (from, arrow) = endpoints.split_at_checked(at)?;
        let (mark, stroke, head) = ARROWS.iter().find(|(mark, ..)| arrow.starts_with(mark))?;
        let from = self.participant(from)?;
        let to = self.participant(arrow.strip_prefix(mark)?)?;
        let mut text = label_lines(text).join(" ");
        if let Some(number) = &mut self.numbered {
            *number += 1;
            text = format!("{number}. {text}");
        }
        self.steps.push(SequenceStep::Message {
            from,
            to,
            text,
            stroke: *stroke,
            head,
        });
        Some(())
    }

    /// Spaces the lifelines so that boxes, messages and notes fit between them.
    fn place(&mut self) {
        let widths: Vec<usize> = self
            .participants
            .iter()
            .map(|participant| visible_width(&participant.label) + 4)
            .collect();
        let mut columns: Vec<usize> = Vec::new();
        for (index, width) in widths.iter().enumerate() {
            let before = index.checked_sub(1);
            let neighbor = before.and_then(|before| {
                let [column, width] = [columns.get(before)?, widths.get(before)?];
                Some(column + width - width / 2 + GAP)
            });
            let mut column = neighbor.unwrap_or(0) + width / 2;
            for step in &self.steps {
                let Some((from, room)) = step.min_distance(index) else {
                    continue;
                };
                column = column.max(columns.get(from).copied().unwrap_or(0) + room);
            }
            columns.push(column);
        }
        for (participant, column) in self.participants.iter_mut().zip(columns) {
            participant.column = column;
        }
    }

    fn column(&self, index: usize) -> usize {
        self.participants
            .get(index)
            .map_or(0, |participant| participant.column)
    }

    fn paint(&self) -> Canvas {
        let mut canvas = Canvas::default();
        let mut row = 0;
        if let Some(title) = &self.title {
            canvas.text(CanvasPoint { row, column: 0 }, title);
            row += 2;
        }
        self.paint_boxes(&mut canvas, row);
        let top = row + 2;
        row += 4;
        let mut dividers: Vec<(usize, &str)> = Vec::new();
        let mut notes: Vec<NoteArea> = Vec::new();
        for step in &self.steps {
            match step {
                SequenceStep::Message { .. } => row = self.paint_message(&mut canvas, step, row),
                SequenceStep::Note { first, last, lines } => {
                    let width = lines.iter().map(|line| visible_width(line)).max();
                    let span = self.column(*last) - self.column(*first) + 5;
                    let width = (width.unwrap_or(0) + 4).max(span);
                    let middle = usize::midpoint(self.column(*first), self.column(*last));
                    let column = middle.saturating_sub(width / 2);
                    let size = [width, lines.len() + 2];
                    canvas.labeled_box(CanvasPoint { row, column }, size, Corners::Sharp, lines);
                    notes.push((row..row + lines.len() + 2, column..column + width));
                    row += lines.len() + 3;
                }
                SequenceStep::Divider(text) => {
                    dividers.push((row, text));
                    row += 2;
                }
            }
        }
        let bottom = row;
        for participant in &self.participants {
            let column = participant.column;
            let point = |row| CanvasPoint { row, column };
            let covered = |row: usize| {
                let mut notes = notes.iter();
                notes.any(|(rows, columns)| rows.contains(&row) && columns.contains(&column))
            };
            for row in (top..bottom).filter(|row| !covered(*row) && !covered(*row + 1)) {
                canvas.line(point(row), point(row + 1), Stroke::Solid);
            }
        }
        self.paint_boxes(&mut canvas, bottom);
        let last = self.participants.last();
        let width = last.map_or(0, |last| last.column + visible_width(&last.label) / 2 + 3);
        for (row, text) in dividers {
            let line = format!("── {text} ");
            let rest = width.saturating_sub(visible_width(&line));
            canvas.text(CanvasPoint { row, column: 0 }, &(line + &"─".repeat(rest)));
        }
        canvas
    }

    fn paint_boxes(&self, canvas: &mut Canvas, row: usize) {
        for participant in &self.participants {
            let width = visible_width(&participant.label) + 4;
            let column = participant.column - width / 2;
            let label = std::slice::from_ref(&participant.label);
            canvas.labeled_box(
                CanvasPoint { row, column },
                [width, 3],
                Corners::Sharp,
                label,
            );
        }
    }

    /// Draws a message and returns the row of the next step.
    fn paint_message(&self, canvas: &mut Canvas, step: &SequenceStep, row: usize) -> usize {
        let SequenceStep::Message {
            from,
            to,
            text,
            stroke,
            head,
        } = step
        else {
            return row;
        };
        let [from, to] = [*from, *to].map(|index| self.column(index));
        let point = |row, column| CanvasPoint { row, column };
        if from == to {
            let right = from + LOOP;
            canvas.line(point(row, from), point(row, right), *stroke);
            canvas.line(point(row, right), point(row + 2, right), *stroke);
            canvas.line(point(row + 2, from + 1), point(row + 2, right), *stroke);
            canvas.text(point(row + 1, right + 2), text);
            canvas.text(
                point(row + 2, from + 1),
                if *head == "▶" { "◀" } else { head },
            );
            return row + 4;
        }
        let (left, right) = (from.min(to), from.max(to));
        let free = (right - left - 1).saturating_sub(visible_width(text));
        canvas.text(point(row, left + 1 + free / 2), text);
        let (end, head) = match (to > from, *head) {
            (true, head) => (to - 1, head),
            (false, "▶") => (to + 1, "◀"),
            (false, ")") => (to + 1, "("),
            (false, head) => (to + 1, head),
        };
        canvas.line(point(row + 1, from), point(row + 1, end), *stroke);
        canvas.text(point(row + 1, end), head);
        row + 3
    }
}

impl SequenceStep {
    /// Returns the minimum distance of participant `index` from an earlier one.
    fn min_distance(&self, index: usize) -> Option<(usize, usize)> {
        match self {
            Self::Message { from, to, text, .. } if from == to && from + 1 == index => {
                Some((*from, LOOP + visible_width(text) + 4))
            }
            Self::Message { from, to, text, .. } if from != to && *from.max(to) == index => {
                Some((*from.min(to), visible_width(text) + 4))
            }
            Self::Note { first, last, lines } if *first != *last && *last == index => {
                let widest = lines.iter().map(|line| visible_width(line)).max()?;
                Some((*first, widest.saturating_sub(1)))
            }
            Self::Message { .. } | Self::Note { .. } | Self::Divider(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mermaid_to_text;
    use pretty_assertions::assert_eq;

    #[test]
    fn messages_are_drawn_between_lifelines() {
        let source = "sequenceDiagram\n participant A as Alice\n participant B\n A->>B: Hello\n \
             B-->>A: Hi\n Note over A,B: done\n loop twice\n A->>A: think\n end";
        let expected = "\
┌───────┐     ┌───┐
│ Alice │     │ B │
└───┬───┘     └─┬─┘
    │           │
    │   Hello   │
    ├──────────▶│
    │           │
    │    Hi     │
    │◀╌╌╌╌╌╌╌╌╌╌┤
    │           │
  ┌───────────────┐
  │     done      │
  └───────────────┘
    │           │
── loop twice ─────
    │           │
    ├──┐        │
    │  │ think  │
    │◀─┘        │
    │           │
── end ────────────
    │           │
┌───┴───┐     ┌─┴─┐
│ Alice │     │ B │
└───────┘     └───┘";
        let drawn = mermaid_to_text(source).unwrap().join("\n");
        assert_eq!(drawn, expected);
    }

    #[test]
    fn unknown_statements_are_errors_except_in_the_last_line() {
        assert!(mermaid_to_text("sequenceDiagram\n A->>B: x\n garb").is_some());
        assert_eq!(mermaid_to_text("sequenceDiagram\n garb\n A->>B: x"), None);
    }
}
