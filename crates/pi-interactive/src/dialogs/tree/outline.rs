//! The tree as rows: the order of entries, which of them show, and the lines that join them.
//!
//! The branch one is on comes first. A chain without forks stays flat, so that long conversations do
//! not drift to the right; entries that do not show leave their children to the next one above.

use std::collections::HashSet;

use pi_session::SessionTree;

/// An entry that shows.
#[derive(Clone, Debug)]
pub(super) struct TreeRow {
    /// Its place in the session's tree.
    pub(super) node: usize,
    /// The row of the nearest entry above that shows.
    pub(super) parent: Option<usize>,
    /// How many rows have this one as parent.
    pub(super) children: usize,
    /// The first of them.
    pub(super) first_child: Option<usize>,
    /// Steps to the right.
    indent: usize,
    /// Whether it is one of several children.
    branches: bool,
    /// Whether a line leads to it.
    joined: bool,
    /// Whether it is the last of its parent's children.
    last: bool,
    /// The nearest row above that a line leads to.
    joint: Option<usize>,
}

/// The rows that show.
#[derive(Debug, Default)]
pub(super) struct Outline {
    rows: Vec<TreeRow>,
    has_multiple_roots: bool,
}

/// Returns every entry, parents before children, the branch to `leaf` before others.
pub(super) fn ordered(tree: &SessionTree, leaf: Option<usize>) -> (Vec<usize>, HashSet<usize>) {
    let mut active = HashSet::new();
    let mut next = leaf;
    while let Some(node) = next.filter(|node| active.insert(*node)) {
        next = tree.nodes.get(node).and_then(|node| node.parent);
    }
    let mut order = Vec::with_capacity(tree.nodes.len());
    let mut stack = Vec::new();
    let push = |stack: &mut Vec<usize>, nodes: &[usize]| {
        let (on, off): (Vec<usize>, Vec<usize>) =
            nodes.iter().partition(|node| active.contains(node));
        stack.extend(off.into_iter().rev());
        stack.extend(on.into_iter().rev());
    };
    push(&mut stack, &tree.roots);
    while let Some(node) = stack.pop() {
        order.push(node);
        if let Some(node) = tree.nodes.get(node) {
            push(&mut stack, &node.children);
        }
    }
    (order, active)
}

impl Outline {
    /// Lays out the entries that `shows` is true for, without what is below folded ones.
    pub(super) fn new(
        tree: &SessionTree,
        order: &[usize],
        folded: &HashSet<usize>,
        mut shows: impl FnMut(usize) -> bool,
    ) -> Self {
        let mut rows: Vec<TreeRow> = Vec::new();
        // By node: the row it has, or that of the nearest one above; and whether it is folded away.
        let mut row_of: Vec<Option<usize>> = vec![None; tree.nodes.len()];
        let mut away = vec![false; tree.nodes.len()];
        for node in order {
            let parent = tree.nodes.get(*node).and_then(|node| node.parent);
            let inside = parent.is_some_and(|parent| {
                folded.contains(&parent) || away.get(parent).copied().unwrap_or(false)
            });
            if let Some(away) = away.get_mut(*node) {
                *away = inside;
            }
            let above = parent.and_then(|parent| row_of.get(parent).copied().flatten());
            let row = if !inside && shows(*node) {
                rows.push(TreeRow::new(*node, above));
                Some(rows.len() - 1)
            } else {
                above
            };
            if let Some(place) = row_of.get_mut(*node) {
                *place = row;
            }
        }
        let mut outline = Self {
            rows,
            has_multiple_roots: false,
        };
        outline.count_children();
        outline.join();
        outline
    }

    fn count_children(&mut self) {
        let mut last_child: Vec<Option<usize>> = vec![None; self.rows.len()];
        let mut roots = Vec::new();
        for index in 0..self.rows.len() {
            let parent = self.rows.get(index).and_then(|row| row.parent);
            let Some(parent) = parent else {
                roots.push(index);
                continue;
            };
            if let Some(row) = self.rows.get_mut(parent) {
                row.children += 1;
                row.first_child.get_or_insert(index);
            }
            if let Some(last) = last_child.get_mut(parent) {
                *last = Some(index);
            }
        }
        self.has_multiple_roots = roots.len() > 1;
        for last in last_child
            .into_iter()
            .flatten()
            .chain(roots.last().copied())
        {
            if let Some(row) = self.rows.get_mut(last) {
                row.last = true;
            }
        }
    }

    fn join(&mut self) {
        for index in 0..self.rows.len() {
            let parent = self.rows.get(index).and_then(|row| row.parent);
            let above = parent.and_then(|parent| Some((parent, self.rows.get(parent)?)));
            let (indent, branches, joined, joint) = match above {
                None => {
                    let indent = usize::from(self.has_multiple_roots);
                    (indent, self.has_multiple_roots, false, None)
                }
                Some((place, parent)) => {
                    let several = parent.children > 1;
                    // The first generation after a fork moves right once more, as a group.
                    let deeper = several || (parent.branches && parent.indent > 0);
                    let joint = if parent.joined {
                        Some(place)
                    } else {
                        parent.joint
                    };
                    (parent.indent + usize::from(deeper), several, several, joint)
                }
            };
            if let Some(row) = self.rows.get_mut(index) {
                (row.indent, row.branches, row.joined, row.joint) =
                    (indent, branches, joined, joint);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&TreeRow> {
        self.rows.get(index)
    }

    /// Returns the row of an entry, or of the nearest one above that shows.
    pub(super) fn nearest(&self, tree: &SessionTree, node: usize) -> Option<usize> {
        let places: std::collections::HashMap<usize, usize> = self
            .rows
            .iter()
            .enumerate()
            .map(|(index, row)| (row.node, index))
            .collect();
        let mut next = Some(node);
        for _ in 0..=tree.nodes.len() {
            let node = next?;
            if let Some(place) = places.get(&node) {
                return Some(*place);
            }
            next = tree.nodes.get(node).and_then(|node| node.parent);
        }
        None
    }

    /// Returns whether what is below a row can be folded: it is a root or one of several children.
    pub(super) fn is_foldable(&self, index: usize) -> bool {
        self.get(index)
            .is_some_and(|row| row.children > 0 && (row.parent.is_none() || row.branches))
    }

    /// Returns whether the fold mark stands in the line that leads to the row.
    pub(super) fn is_joined(&self, index: usize) -> bool {
        self.get(index).is_some_and(|row| row.joined)
    }

    /// Returns the lines before a row, three columns a step; `mark` stands where its own line ends.
    pub(super) fn lead(&self, index: usize, mark: char) -> String {
        let Some(row) = self.get(index) else {
            return String::new();
        };
        let steps = self.steps(row);
        let mut cells = vec![' '; steps * 3];
        let mut put = |step: usize, offset: usize, character: char| {
            if let Some(cell) = cells.get_mut(step * 3 + offset) {
                *cell = character;
            }
        };
        if row.joined && steps > 0 {
            put(steps - 1, 0, if row.last { '└' } else { '├' });
            put(steps - 1, 1, mark);
        }
        let mut next = row.joint;
        while let Some(joint) = next.and_then(|joint| self.get(joint)) {
            if !joint.last {
                put(self.steps(joint).saturating_sub(1), 0, '│');
            }
            next = joint.joint;
        }
        cells.into_iter().collect()
    }

    fn steps(&self, row: &TreeRow) -> usize {
        row.indent - usize::from(self.has_multiple_roots && row.indent > 0)
    }

    /// Returns where the branch that holds a row begins, going up; the next one if it is there.
    pub(super) fn branch_above(&self, from: usize) -> usize {
        let mut current = from;
        while let Some(row) = self.get(current) {
            let Some(parent) = row.parent else { break };
            if row.branches && current < from {
                break;
            }
            current = parent;
        }
        current
    }

    /// Returns where the next branch begins below a row, or the end of its chain.
    pub(super) fn branch_below(&self, from: usize) -> usize {
        let mut current = from;
        while let Some(row) = self.get(current)
            && let Some(child) = row.first_child
        {
            let several = row.children > 1;
            current = child;
            if several {
                break;
            }
        }
        current
    }
}

impl TreeRow {
    fn new(node: usize, parent: Option<usize>) -> Self {
        Self {
            node,
            parent,
            children: 0,
            first_child: None,
            indent: 0,
            branches: false,
            joined: false,
            last: false,
            joint: None,
        }
    }
}
