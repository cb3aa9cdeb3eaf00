//! Layout of a flowchart: layers along the flow direction, and an order and position across it.
//!
//! An edge across several layers gets a slot in each layer it passes, so that all lines run between
//! adjacent layers. A backward edge is laid out as if it were reversed.

use pi_tui::visible_width;

use super::FlowDirection;
use super::parse::Flowchart;
use crate::mermaid::canvas::Stroke;

/// Charts with more nodes and passing lines are shown as code.
const MAX_SLOTS: usize = 300;
/// Initial position of boxes, far enough from zero that they can be pushed to the left.
const ORIGIN: usize = 1_000_000;
/// Number of rounds in which boxes move towards their neighbors.
const ROUNDS: usize = 3;

/// A position in a layer: of a box, or of a line that passes through.
#[derive(Debug)]
pub(super) struct LayerSlot {
    pub(super) node: Option<usize>,
    layer: usize,
    /// Size in cells along the flow direction and across it.
    pub(super) along: usize,
    pub(super) across: usize,
    /// Cells kept free after the center, for a label.
    reach: usize,
    pub(super) center: usize,
}

/// A line between slots of adjacent layers.
#[derive(Debug)]
pub(super) struct LayerLink {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) stroke: Stroke,
    pub(super) head: bool,
    pub(super) tail: bool,
    /// Index of the track between the two layers that its bend uses.
    pub(super) track: usize,
}

/// The layout of a chart.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) slots: Vec<LayerSlot>,
    pub(super) links: Vec<LayerLink>,
    /// The slots of each layer, in order.
    order: Vec<Vec<usize>>,
    /// Start and end of each layer along the flow direction.
    bounds: Vec<(usize, usize)>,
}

impl Layers {
    /// Lays out a chart. Returns `None` if it has too many slots.
    pub(super) fn new(chart: &Flowchart, flow: FlowDirection) -> Option<Self> {
        let backward = backward_edges(chart);
        let ranks = ranks(chart, &backward);
        let mut layers = Self {
            slots: Vec::new(),
            links: Vec::new(),
            order: vec![Vec::new(); ranks.iter().max()? + 1],
            bounds: Vec::new(),
        };
        for (index, node) in chart.nodes.iter().enumerate() {
            let width = node.lines.iter().map(|line| visible_width(line)).max();
            let (width, height) = (width.unwrap_or(0) + 4, node.lines.len().max(1) + 2);
            let (along, across) = match flow {
                FlowDirection::Down => (height, width),
                FlowDirection::Right => (width, height),
            };
            layers.push_slot(Some(index), *ranks.get(index)?, along, across);
        }
        for (edge, backward) in chart.edges.iter().zip(&backward) {
            if edge.from == edge.to {
                continue;
            }
            let (from, to) = if *backward {
                (edge.to, edge.from)
            } else {
                (edge.from, edge.to)
            };
            let mut last = from;
            for layer in ranks.get(from)? + 1..*ranks.get(to)? {
                let passing = layers.push_slot(None, layer, 0, 1);
                layers.push_link(last, passing, edge.stroke);
                last = passing;
            }
            layers.push_link(last, to, edge.stroke);
            let (head, tail) = if *backward {
                (edge.tail, edge.head)
            } else {
                (edge.head, edge.tail)
            };
            let link = layers.links.last_mut()?;
            link.head = head;
            link.label.clone_from(&edge.label);
            let first = layers
                .links
                .iter_mut()
                .rev()
                .find(|link| link.from == from)?;
            first.tail = tail;
            if layers.slots.len() > MAX_SLOTS {
                return None;
            }
        }
        layers.join_labels();
        layers.reserve_space_for_labels(flow);
        layers.sort();
        layers.spread(flow);
        layers.assign_bounds(flow);
        Some(layers)
    }

    /// Returns where a slot's layer starts.
    pub(super) fn start(&self, slot: &LayerSlot) -> usize {
        self.bounds.get(slot.layer).map_or(0, |(start, _)| *start)
    }

    /// Returns where a slot ends: a box at its border, a passing line at the end of its layer.
    pub(super) fn end(&self, slot: &LayerSlot) -> usize {
        match (slot.node, self.bounds.get(slot.layer)) {
            (Some(_), Some((start, _))) => start + slot.along,
            (None, Some((_, end))) => *end,
            (_, None) => 1,
        }
    }

    fn push_slot(
        &mut self,
        node: Option<usize>,
        layer: usize,
        along: usize,
        across: usize,
    ) -> usize {
        let index = self.slots.len();
        if let Some(order) = self.order.get_mut(layer) {
            order.push(index);
        }
        self.slots.push(LayerSlot {
            node,
            layer,
            along,
            across,
            reach: 0,
            center: ORIGIN,
        });
        index
    }

    fn push_link(&mut self, from: usize, to: usize, stroke: Stroke) {
        self.links.push(LayerLink {
            from,
            to,
            label: String::new(),
            stroke,
            head: false,
            tail: false,
            track: 0,
        });
    }

    /// Merges labels that would be drawn at the same position.
    fn join_labels(&mut self) {
        for index in 0..self.links.len() {
            let (before, rest) = self.links.split_at_mut(index);
            let Some(link) = rest.first_mut().filter(|link| !link.label.is_empty()) else {
                continue;
            };
            let same = before
                .iter_mut()
                .find(|other| other.to == link.to && !other.label.is_empty());
            if let Some(other) = same {
                let label = std::mem::take(&mut link.label);
                if other.label != label {
                    other.label = format!("{} / {label}", other.label);
                }
            }
        }
    }

    fn reserve_space_for_labels(&mut self, flow: FlowDirection) {
        for link in &self.links {
            if let Some(slot) = self.slots.get_mut(link.to)
                && flow == FlowDirection::Down
                && !link.label.is_empty()
            {
                slot.reach = slot.reach.max(visible_width(&link.label) + 1);
            }
        }
    }

    /// Orders each layer by the mean position of its slots' neighbors, in alternating downward and
    /// upward passes.
    fn sort(&mut self) {
        let mut positions = vec![0_usize; self.slots.len()];
        for round in 0..ROUNDS * 2 {
            for order in &self.order {
                for (position, slot) in order.iter().enumerate() {
                    if let Some(it) = positions.get_mut(*slot) {
                        *it = position;
                    }
                }
            }
            let downward = round % 2 == 0;
            for order in &mut self.order {
                let mut keyed: Vec<(usize, usize)> = order
                    .iter()
                    .map(|slot| {
                        let neighbors = neighbors(&self.links, *slot, downward);
                        let positions = neighbors.map(|it| positions.get(it).copied().unwrap_or(0));
                        let own = mean_position(positions, 100);
                        let unmoved = position_of(order, *slot) * 100;
                        (own.unwrap_or(unmoved), *slot)
                    })
                    .collect();
                keyed.sort_by_key(|(key, _)| *key);
                *order = keyed.into_iter().map(|(_, slot)| slot).collect();
            }
        }
    }

    /// Assigns each slot a position across the flow, near its neighbors.
    fn spread(&mut self, flow: FlowDirection) {
        let gap = match flow {
            FlowDirection::Down => 3,
            FlowDirection::Right => 1,
        };
        for round in 0..ROUNDS * 2 {
            let downward = round % 2 == 0;
            let count = self.order.len();
            for step in 0..count {
                let layer = if downward { step } else { count - 1 - step };
                let Some(order) = self.order.get(layer).cloned() else {
                    continue;
                };
                let targets: Vec<usize> = order
                    .iter()
                    .map(|slot| {
                        let centers = neighbors(&self.links, *slot, downward)
                            .filter_map(|it| self.slots.get(it).map(|slot| slot.center));
                        let own = self.slots.get(*slot).map_or(0, |slot| slot.center);
                        mean_position(centers, 1).unwrap_or(own)
                    })
                    .collect();
                self.place(&order, &targets, gap);
            }
        }
        // Move everything as far left as possible.
        let edges = self.slots.iter().map(|slot| slot.center - slot.across / 2);
        let margin = edges.min().unwrap_or(0);
        for slot in &mut self.slots {
            slot.center -= margin;
        }
    }

    /// Places slots near their target positions: the mean of pushing them right and pushing them
    /// left.
    fn place(&mut self, order: &[usize], targets: &[usize], gap: usize) {
        let sizes: Vec<(usize, usize)> = order
            .iter()
            .filter_map(|slot| self.slots.get(*slot))
            .map(|slot| {
                let right = slot.across - slot.across / 2;
                (slot.across / 2, right.max(slot.reach + 1))
            })
            .collect();
        let mut pushed_right = Vec::new();
        let mut free = 0;
        for ((left, right), target) in sizes.iter().zip(targets) {
            let center = (*target).max(free + left);
            pushed_right.push(center);
            free = center + right + gap;
        }
        let mut pushed_left = pushed_right.clone();
        let mut limit = usize::MAX;
        let all = sizes.iter().zip(targets).zip(&mut pushed_left).rev();
        for (((left, right), target), center) in all {
            let max_center = limit.saturating_sub(*right);
            *center = (*center).min(*target).min(max_center);
            limit = center.saturating_sub(left + gap);
        }
        for ((slot, right), left) in order.iter().zip(pushed_right).zip(pushed_left) {
            if let Some(slot) = self.slots.get_mut(*slot) {
                slot.center = usize::midpoint(left, right);
            }
        }
    }

    /// Assigns tracks to bends and bounds to layers.
    fn assign_bounds(&mut self, flow: FlowDirection) {
        let mut start = 0;
        for layer in 0..self.order.len() {
            let along = self.slots.iter().filter(|slot| slot.layer == layer);
            let end = start + along.map(|slot| slot.along).max().unwrap_or(0).max(1);
            self.bounds.push((start, end));
            let tracks = self.assign_tracks(layer);
            let label = self
                .links
                .iter()
                .filter(|link| self.layer_of(link.from) == Some(layer))
                .map(|link| visible_width(&link.label))
                .max()
                .filter(|width| *width > 0 && flow == FlowDirection::Right);
            let straight = match flow {
                FlowDirection::Down => 2,
                FlowDirection::Right => 3,
            };
            start = end + straight + tracks + label.map_or(0, |width| width + 3);
        }
    }

    fn layer_of(&self, slot: usize) -> Option<usize> {
        self.slots.get(slot).map(|slot| slot.layer)
    }

    /// Assigns tracks to the bends between a layer and the next, so that lines from different
    /// origins do not share one. Returns the number of tracks.
    fn assign_tracks(&mut self, layer: usize) -> usize {
        let Some(order) = self.order.get(layer) else {
            return 0;
        };
        let mut tracks: Vec<Vec<(usize, usize)>> = Vec::new();
        for origin in order {
            let Some(center) = self.slots.get(*origin).map(|slot| slot.center) else {
                continue;
            };
            let ends: Vec<usize> = self
                .links
                .iter()
                .filter(|link| link.from == *origin)
                .filter_map(|link| Some(self.slots.get(link.to)?.center))
                .chain([center])
                .collect();
            let low = ends.iter().copied().min().unwrap_or(center);
            let high = ends.iter().copied().max().unwrap_or(center);
            if low == high {
                continue;
            }
            let is_disjoint = |&(from, to): &(usize, usize)| high < from || to < low;
            let track = tracks
                .iter()
                .position(|taken| taken.iter().all(is_disjoint))
                .unwrap_or_else(|| {
                    tracks.push(Vec::new());
                    tracks.len() - 1
                });
            if let Some(taken) = tracks.get_mut(track) {
                taken.push((low, high));
            }
            for link in self.links.iter_mut().filter(|link| link.from == *origin) {
                link.track = track;
            }
        }
        // Boxes may end before their layer does, but their bends must not.
        let layer_end = self.bounds.get(layer).map_or(0, |(_, end)| *end);
        for link in &mut self.links {
            if let Some(slot) = self.slots.get(link.from)
                && slot.layer == layer
                && slot.node.is_some()
            {
                let start = self.bounds.get(layer).map_or(0, |(start, _)| *start);
                link.track += layer_end - (start + slot.along);
            }
        }
        tracks.len()
    }
}

fn position_of(order: &[usize], slot: usize) -> usize {
    order.iter().position(|it| *it == slot).unwrap_or(0)
}

fn neighbors(links: &[LayerLink], slot: usize, before: bool) -> impl Iterator<Item = usize> {
    links.iter().filter_map(move |link| match before {
        true if link.to == slot => Some(link.from),
        false if link.from == slot => Some(link.to),
        _ => None,
    })
}

/// Returns the mean of positions scaled by `scale`, if there are any.
fn mean_position(positions: impl Iterator<Item = usize>, scale: usize) -> Option<usize> {
    let (sum, count) = positions.fold((0, 0), |(sum, count), position| (sum + position, count + 1));
    (sum * scale).checked_div(count)
}

/// Returns which edges run backward: those to a node that is still being visited.
fn backward_edges(chart: &Flowchart) -> Vec<bool> {
    let mut walk = CycleFinder {
        chart,
        state: vec![VisitState::New; chart.nodes.len()],
        backward: vec![false; chart.edges.len()],
    };
    for node in 0..chart.nodes.len() {
        walk.visit(node);
    }
    walk.backward
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    Open,
    Done,
}

struct CycleFinder<'a> {
    chart: &'a Flowchart,
    state: Vec<VisitState>,
    backward: Vec<bool>,
}

impl CycleFinder<'_> {
    /// Visits a node depth-first. The recursion is bounded by the number of nodes, which is small.
    fn visit(&mut self, node: usize) {
        if self.state.get(node) != Some(&VisitState::New) {
            return;
        }
        self.set(node, VisitState::Open);
        for (index, edge) in self.chart.edges.iter().enumerate() {
            if edge.from != node {
                continue;
            }
            if self.state.get(edge.to) == Some(&VisitState::Open) {
                if let Some(backward) = self.backward.get_mut(index) {
                    *backward = true;
                }
            } else {
                self.visit(edge.to);
            }
        }
        self.set(node, VisitState::Done);
    }

    fn set(&mut self, node: usize, state: VisitState) {
        if let Some(it) = self.state.get_mut(node) {
            *it = state;
        }
    }
}

/// Returns each node's layer: one below the lowest of its predecessors.
fn ranks(chart: &Flowchart, backward: &[bool]) -> Vec<usize> {
    let mut ranks = vec![0; chart.nodes.len()];
    for _ in 0..chart.nodes.len() {
        for (edge, backward) in chart.edges.iter().zip(backward) {
            if edge.from == edge.to {
                continue;
            }
            let (from, to) = if *backward {
                (edge.to, edge.from)
            } else {
                (edge.from, edge.to)
            };
            let min_rank = ranks.get(from).copied().unwrap_or(0) + 1;
            if let Some(rank) = ranks.get_mut(to) {
                *rank = min_rank.max(*rank);
            }
        }
    }
    ranks
}
