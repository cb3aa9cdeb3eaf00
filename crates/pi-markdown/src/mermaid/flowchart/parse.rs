//! Parses the source of a flowchart: statements of nodes and the links between them.

use super::stroke_of;
use crate::mermaid::canvas::{Corners, Stroke};
use crate::mermaid::label_lines;

/// Larger charts are shown as code.
const MAX_NODES: usize = 48;
const MAX_EDGES: usize = 96;

pub(super) struct FlowNode {
    id: String,
    pub(super) lines: Vec<String>,
    pub(super) corners: Corners,
}

pub(super) struct FlowEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) stroke: Stroke,
    /// Arrowheads at the end and at the start.
    pub(super) head: bool,
    pub(super) tail: bool,
}

/// Nodes and edges in source order.
#[derive(Default)]
pub(super) struct Flowchart {
    pub(super) nodes: Vec<FlowNode>,
    pub(super) edges: Vec<FlowEdge>,
}

/// Statements that do not affect the drawing.
const IGNORED_STATEMENTS: [&str; 8] = [
    "subgraph",
    "end",
    "style",
    "classDef",
    "class",
    "click",
    "linkStyle",
    "direction",
];

impl Flowchart {
    /// Parses statements. Returns `None` if one is invalid, unless it is the last.
    pub(super) fn parse(lines: &[&str]) -> Option<Self> {
        let mut chart = Self::default();
        let statements: Vec<&str> = lines
            .iter()
            .flat_map(|line| line.split(';'))
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
            .collect();
        for (index, statement) in statements.iter().enumerate() {
            let word = statement.split_whitespace().next()?;
            if IGNORED_STATEMENTS.contains(&word) {
                continue;
            }
            let is_last = index + 1 == statements.len();
            if chart.statement(statement).is_none() && !is_last {
                return None;
            }
        }
        let fits = (1..=MAX_NODES).contains(&chart.nodes.len()) && chart.edges.len() <= MAX_EDGES;
        fits.then_some(chart)
    }

    /// Reverses every edge.
    pub(super) fn reverse(&mut self) {
        for edge in &mut self.edges {
            std::mem::swap(&mut edge.from, &mut edge.to);
            std::mem::swap(&mut edge.head, &mut edge.tail);
        }
    }

    fn statement(&mut self, text: &str) -> Option<()> {
        let (mut from, mut rest) = self.nodes(text)?;
        while !rest.is_empty() {
            let (link, after) = parse_link(rest)?;
            let (to, after) = self.nodes(after)?;
            for (from, to) in from
                .iter()
                .flat_map(|from| to.iter().map(|to| (*from, *to)))
            {
                self.edges.push(FlowEdge {
                    from,
                    to,
                    label: link.label.clone(),
                    stroke: link.stroke,
                    head: link.head,
                    tail: link.tail,
                });
            }
            if self.edges.len() > MAX_EDGES || self.nodes.len() > MAX_NODES {
                return None;
            }
            (from, rest) = (to, after);
        }
        Some(())
    }

    /// Parses nodes joined by `&`. Also returns the text after them.
    fn nodes<'a>(&mut self, text: &'a str) -> Option<(Vec<usize>, &'a str)> {
        let mut nodes = Vec::new();
        let mut rest = text;
        loop {
            let (node, after) = self.node(rest.trim_start())?;
            nodes.push(node);
            let after = after.trim_start();
            match after.strip_prefix('&') {
                Some(after) => rest = after,
                None => return Some((nodes, after)),
            }
        }
    }

    fn node<'a>(&mut self, text: &'a str) -> Option<(usize, &'a str)> {
        let end = text
            .find(|character: char| !(character.is_alphanumeric() || character == '_'))
            .unwrap_or(text.len());
        let (id, rest) = text.split_at_checked(end).filter(|_| end > 0)?;
        let known = self.nodes.iter().position(|node| node.id == id);
        let index = known.unwrap_or_else(|| {
            self.nodes.push(FlowNode {
                id: id.to_owned(),
                lines: vec![id.to_owned()],
                corners: Corners::Sharp,
            });
            self.nodes.len() - 1
        });
        let rest = if rest.starts_with(SHAPES) {
            let (label, corners, after) = parse_shape(rest)?;
            let node = self.nodes.get_mut(index)?;
            node.lines = label_lines(label);
            node.corners = corners;
            after
        } else {
            rest
        };
        let class = |character: char| !(character.is_alphanumeric() || character == '_');
        let rest = match rest.strip_prefix(":::") {
            Some(rest) => rest.get(rest.find(class).unwrap_or(rest.len())..)?,
            None => rest,
        };
        Some((index, rest))
    }
}

/// Characters that open a shape. Several in a row open a different one.
const SHAPES: [char; 4] = ['[', '(', '{', '>'];

/// Returns the label of the shape at the start of `text`, its corners and the text after it, or
/// `None` if it is not closed.
fn parse_shape(text: &str) -> Option<(&str, Corners, &str)> {
    let length = text.len() - text.trim_start_matches(SHAPES).len();
    let (open, body) = text.split_at_checked(length)?;
    let close: String = open
        .chars()
        .rev()
        .map(|character| match character {
            '(' => ')',
            '{' => '}',
            _ => ']',
        })
        .collect();
    let quoted = body.trim_start().strip_prefix('"');
    let skipped = quoted.and_then(|quoted| Some(body.len() - quoted.len() + quoted.find('"')?));
    let at = skipped.unwrap_or(0) + body.get(skipped.unwrap_or(0)..)?.find(&close)?;
    let (label, after) = body.split_at_checked(at)?;
    let corners = if open.starts_with(['(', '{']) {
        Corners::Round
    } else {
        Corners::Sharp
    };
    let label = label.trim_matches(['/', '\\']);
    Some((label, corners, after.strip_prefix(close.as_str())?))
}

struct LinkMark {
    label: String,
    stroke: Stroke,
    head: bool,
    tail: bool,
}

/// Parses a link such as `-->`, `-.->`, `-- text -->` or `-->|text|`. Also returns the text after
/// it.
fn parse_link(text: &str) -> Option<(LinkMark, &str)> {
    let (tail, rest) = match text.strip_prefix('<') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mark, rest) = line_mark(rest)?;
    let (mut head, mut rest) = line_head(rest);
    let mut label = String::new();
    if !head && matches!(mark, "--" | "==" | "-.") {
        let at = ["--", "==", ".-", "-."]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min()?;
        let (text, after) = rest.split_at_checked(at)?;
        let (_, after) = line_mark(after)?;
        label = label_lines(text).join(" ");
        (head, rest) = line_head(after);
    }
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('|') {
        Some(text) => {
            let (text, after) = text.split_once('|')?;
            label = label_lines(text).join(" ");
            after
        }
        None => rest,
    };
    let mark = LinkMark {
        label,
        stroke: stroke_of(mark),
        head,
        tail,
    };
    Some((mark, rest))
}

/// Returns the line at the start of `text`, and the text after it.
fn line_mark(text: &str) -> Option<(&str, &str)> {
    let length = text.len() - text.trim_start_matches(['-', '=', '.', '~']).len();
    text.split_at_checked(length).filter(|_| length >= 2)
}

/// Returns whether an arrowhead follows a line, and the text after it.
fn line_head(text: &str) -> (bool, &str) {
    let head = text.strip_prefix('>').or_else(|| {
        let after = text.strip_prefix(['x', 'o'])?;
        after.starts_with(' ').then_some(after)
    });
    head.map_or((false, text), |after| (true, after))
}
