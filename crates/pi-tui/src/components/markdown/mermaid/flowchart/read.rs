//! The source of a flowchart: statements of nodes and the links between them.

use super::stroke_of;
use crate::components::markdown::mermaid::canvas::{Corners, Stroke};
use crate::components::markdown::mermaid::label_lines;

/// More stays code.
const MOST_NODES: usize = 48;
const MOST_EDGES: usize = 96;

pub(super) struct Node {
    id: String,
    pub(super) lines: Vec<String>,
    pub(super) corners: Corners,
}

pub(super) struct FlowEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) stroke: Stroke,
    /// An arrow's head at the end, and at the start.
    pub(super) head: bool,
    pub(super) tail: bool,
}

/// Nodes and edges in the order of the source.
#[derive(Default)]
pub(super) struct Chart {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<FlowEdge>,
}

/// Statements that do not change what is drawn here.
const LEFT_OUT: [&str; 8] = [
    "subgraph",
    "end",
    "style",
    "classDef",
    "class",
    "click",
    "linkStyle",
    "direction",
];

impl Chart {
    /// Reads statements; one that cannot be read makes it `None`, unless it is the last.
    pub(super) fn read(lines: &[&str]) -> Option<Self> {
        let mut chart = Self::default();
        let statements: Vec<&str> = lines
            .iter()
            .flat_map(|line| line.split(';'))
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
            .collect();
        for (index, statement) in statements.iter().enumerate() {
            let word = statement.split_whitespace().next()?;
            if LEFT_OUT.contains(&word) {
                continue;
            }
            let is_last = index + 1 == statements.len();
            if chart.statement(statement).is_none() && !is_last {
                return None;
            }
        }
        let fits = (1..=MOST_NODES).contains(&chart.nodes.len()) && chart.edges.len() <= MOST_EDGES;
        fits.then_some(chart)
    }

    /// Turns every edge around.
    pub(super) fn reverse(&mut self) {
        for edge in &mut self.edges {
            std::mem::swap(&mut edge.from, &mut edge.to);
            std::mem::swap(&mut edge.head, &mut edge.tail);
        }
    }

    fn statement(&mut self, text: &str) -> Option<()> {
        let (mut from, mut rest) = self.nodes(text)?;
        while !rest.is_empty() {
            let (link, after) = read_link(rest)?;
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
            if self.edges.len() > MOST_EDGES || self.nodes.len() > MOST_NODES {
                return None;
            }
            (from, rest) = (to, after);
        }
        Some(())
    }

    /// Reads nodes joined by `&`, and returns what follows them.
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
            self.nodes.push(Node {
                id: id.to_owned(),
                lines: vec![id.to_owned()],
                corners: Corners::Sharp,
            });
            self.nodes.len() - 1
        });
        let rest = if rest.starts_with(SHAPES) {
            let (label, corners, after) = read_shape(rest)?;
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

/// Characters that open a shape, several of them another one.
const SHAPES: [char; 4] = ['[', '(', '{', '>'];

/// Returns the label of the shape at the start of `text`, its corners and what follows it;
/// `None` if it is not closed.
fn read_shape(text: &str) -> Option<(&str, Corners, &str)> {
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

/// Reads a link such as `-->`, `-.->`, `-- text -->` or `-->|text|`, and returns what follows it.
fn read_link(text: &str) -> Option<(LinkMark, &str)> {
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

/// Returns the line at the start of `text`, and what follows it.
fn line_mark(text: &str) -> Option<(&str, &str)> {
    let length = text.len() - text.trim_start_matches(['-', '=', '.', '~']).len();
    text.split_at_checked(length).filter(|_| length >= 2)
}

/// Returns whether a head follows a line, and what follows that.
fn line_head(text: &str) -> (bool, &str) {
    let head = text.strip_prefix('>').or_else(|| {
        let after = text.strip_prefix(['x', 'o'])?;
        after.starts_with(' ').then_some(after)
    });
    head.map_or((false, text), |after| (true, after))
}
