//! The tree as rows: order, visibility and tree lines.
//!
//! The current branch comes first. A chain without forks stays flat, so that long conversations do not drift
//! to the right; children of a hidden entry attach to its nearest visible ancestor.

use std::collections::HashSet;

use pi_protocol::SessionTree;

/// A visible entry.
#[derive(Clone, Debug)]
pub(super) struct TreeRow {
    /// Index in the session tree.
    pub(super) node: usize,
    /// The row of the nearest visible ancestor.
    pub(super) parent: Option<usize>,
    /// Number of child rows.
    pub(super) children: usize,
    pub(super) first_child: Option<usize>,
    /// Indentation level.
    indent: usize,
    /// Whether it has siblings.
    branches: bool,
    /// Whether a tree line leads to it.
    joined: bool,
    /// Whether it is its parent's last child.
    last: bool,
    /// The nearest ancestor row with a tree line.
    joint: Option<usize>,
}

/// The visible rows.
#[derive(Debug, Default)]
pub(super) struct Outline {
    rows: Vec<TreeRow>,
    /// By node: its row or that of the nearest visible ancestor.
    row_of: Vec<Option<usize>>,
    has_multiple_roots: bool,
    /// Whether the responses around the selection that only call tools are hidden.
    pub(super) is_settled: bool,
}

/// Returns all entries, parents before children, with the branch to `leaf` first; and the entries on that
/// branch.
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
    /// Builds the rows for entries that `shows` accepts, without those below folded ones.
    pub(super) fn new(
        tree: &SessionTree,
        order: &[usize],
        folded: &HashSet<usize>,
        mut shows: impl FnMut(usize) -> bool,
    ) -> Self {
        let mut rows: Vec<TreeRow> = Vec::new();
        let mut row_of: Vec<Option<usize>> = vec![None; tree.nodes.len()];
        // By node: whether it is inside a fold.
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
            if let Some(row_slot) = row_of.get_mut(*node) {
                *row_slot = row;
            }
        }
        let mut outline = Self {
            rows,
            row_of,
            has_multiple_roots: false,
            is_settled: false,
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
                Some((index, parent)) => {
                    let has_siblings = parent.children > 1;
                    // The first generation after a fork is indented once more, as a group.
                    let deeper = has_siblings || (parent.branches && parent.indent > 0);
                    let joint = if parent.joined {
                        Some(index)
                    } else {
                        parent.joint
                    };
                    (
                        parent.indent + usize::from(deeper),
                        has_siblings,
                        has_siblings,
                        joint,
                    )
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

    /// Returns the row of an entry or of its nearest visible ancestor.
    pub(super) fn nearest(&self, node: usize) -> Option<usize> {
        self.row_of.get(node).copied().flatten()
    }

    /// Whether a row can be folded: it is a root or has siblings.
    pub(super) fn is_foldable(&self, index: usize) -> bool {
        self.get(index)
            .is_some_and(|row| row.children > 0 && (row.parent.is_none() || row.branches))
    }

    /// Whether the fold marker is part of the tree line.
    pub(super) fn is_joined(&self, index: usize) -> bool {
        self.get(index).is_some_and(|row| row.joined)
    }

    /// Returns the tree lines in front of a row, three columns per level; `mark` is the fold marker.
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

    /// Returns the start of the row's branch, or of the one above if the row is already there.
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

    /// Returns the start of the next branch below a row, or the end of its chain.
    pub(super) fn branch_below(&self, from: usize) -> usize {
        let mut current = from;
        while let Some(row) = self.get(current)
            && let Some(child) = row.first_child
        {
            let has_siblings = row.children > 1;
            current = child;
            if has_siblings {
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
