//! Checks the links between entries and plans how to reconnect them. Records are never rewritten to
//! repair the tree: where an entry that others follow is lost, a [`Placeholder`] entry with the
//! same ID replaces it; it contributes nothing to the context. Only a cycle requires changing a
//! record, since every link in it is in a readable record.

use std::collections::HashMap;

use pi_protocol::EntryId;

use super::file_scan::{EntryLinkInfo, Segment, SegmentKind};
use super::problem::{Findings, ProblemKind};
use super::salvage::SalvagedInfo;

/// An entry that replaces a lost one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// Position of the segment it is inserted before.
    pub(crate) position: usize,
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: i64,
}

/// Changes that reconnect the entries of a file.
#[derive(Debug, Default)]
pub(crate) struct LinkRepairs {
    pub(crate) placeholders: Vec<Placeholder>,
    /// Positions of the segments that become roots.
    pub(crate) detached: Vec<usize>,
}

pub(crate) fn check(segments: &[Segment], findings: &mut Findings) -> LinkRepairs {
    let mut links = LinkChecker::of(segments, findings);
    links.find_missing_parents(findings);
    links.find_references(findings);
    links.link_placeholders();
    links.break_cycles(findings);
    links.link_repairs
}

struct LinkChecker<'segments> {
    entries: Vec<EntryLink<'segments>>,
    /// If several entries have the same ID, the last one: both implementations resolve it that way.
    by_id: HashMap<&'segments str, usize>,
    duplicates: HashMap<&'segments str, u64>,
    lost: HashMap<&'segments str, (usize, &'segments SalvagedInfo)>,
    link_repairs: LinkRepairs,
    placeholder_by_id: HashMap<EntryId, usize>,
}

struct EntryLink<'segments> {
    position: usize,
    line: u64,
    info: &'segments EntryLinkInfo,
}

/// A node of the tree: an entry or a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LinkNode {
    Entry(usize),
    Placeholder(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitState {
    InProgress,
    Done,
}

impl<'segments> LinkChecker<'segments> {
    fn of(segments: &'segments [Segment], findings: &mut Findings) -> Self {
        let mut links = Self {
            entries: Vec::new(),
            by_id: HashMap::new(),
            duplicates: HashMap::new(),
            lost: HashMap::new(),
            link_repairs: LinkRepairs::default(),
            placeholder_by_id: HashMap::new(),
        };
        for (position, segment) in segments.iter().enumerate() {
            match &segment.kind {
                SegmentKind::Entry(info) => {
                    let earlier = links.by_id.insert(info.id.as_str(), links.entries.len());
                    if let Some(earlier) = earlier.and_then(|at| links.entries.get(at)) {
                        let (id, first_line) = (info.id.clone(), earlier.line);
                        links.duplicates.insert(info.id.as_str(), first_line);
                        findings.add(
                            Some(segment.line),
                            ProblemKind::DuplicateId { id, first_line },
                        );
                    }
                    links.entries.push(EntryLink {
                        position,
                        line: segment.line,
                        info,
                    });
                }
                SegmentKind::Unreadable(Some(lost)) => {
                    links
                        .lost
                        .entry(lost.id.as_str())
                        .or_insert((position, lost));
                }
                SegmentKind::Header
                | SegmentKind::EntryWithoutId
                | SegmentKind::Blank
                | SegmentKind::Unreadable(None) => {}
            }
        }
        links
    }

    fn find_missing_parents(&mut self, findings: &mut Findings) {
        for at in 0..self.entries.len() {
            let Some(EntryLink {
                position,
                line,
                info,
            }) = self.entries.get(at)
            else {
                return;
            };
            let Some(parent) = &info.parent else {
                continue;
            };
            if self.by_id.contains_key(parent.as_str()) {
                continue;
            }
            let (id, parent) = (info.id.clone(), parent.clone());
            let kind = ProblemKind::MissingParent {
                id,
                parent: parent.clone(),
            };
            findings.add(Some(*line), kind);
            let (position, timestamp_ms) = (*position, info.timestamp_ms);
            self.add_placeholder(parent, position, timestamp_ms);
        }
    }

    /// Checks references other than parents. A lost target whose ID was salvaged gets a
    /// placeholder.
    fn find_references(&mut self, findings: &mut Findings) {
        for at in 0..self.entries.len() {
            let Some(EntryLink {
                position,
                line,
                info,
            }) = self.entries.get(at)
            else {
                return;
            };
            let Some(reference) = &info.reference else {
                continue;
            };
            let target = &reference.target;
            if self.is_known(target) {
                continue;
            }
            if self.lost.contains_key(target.as_str()) {
                let (target, position, timestamp_ms) =
                    (target.clone(), *position, info.timestamp_ms);
                self.add_placeholder(target, position, timestamp_ms);
                continue;
            }
            let kind = ProblemKind::UnknownReference {
                type_name: reference.type_name,
                target: target.clone(),
            };
            findings.add(Some(*line), kind);
        }
    }

    fn is_known(&self, id: &EntryId) -> bool {
        self.by_id.contains_key(id.as_str()) || self.placeholder_by_id.contains_key(id)
    }

    /// Plans a placeholder for a lost entry: at its original position if known, otherwise before
    /// `position`.
    fn add_placeholder(&mut self, id: EntryId, position: usize, timestamp_ms: Option<i64>) {
        if self.placeholder_by_id.contains_key(&id) {
            return;
        }
        let (position, timestamp_ms) = match self.lost.get(id.as_str()) {
            Some((position, lost)) => (*position, lost.timestamp_ms.or(timestamp_ms)),
            None => (position, timestamp_ms),
        };
        let number = self.link_repairs.placeholders.len();
        self.placeholder_by_id.insert(id.clone(), number);
        self.link_repairs.placeholders.push(Placeholder {
            position,
            id,
            parent: None,
            timestamp_ms: timestamp_ms.unwrap_or_default(),
        });
    }

    /// Determines the parent of every placeholder: the salvaged parent of the lost entry, otherwise
    /// the preceding entry.
    fn link_placeholders(&mut self) {
        let mut number = 0;
        // The parent of a lost entry may be lost as well, so placeholders may be added while
        // iterating.
        while let Some(Placeholder {
            position,
            id,
            timestamp_ms,
            ..
        }) = self.link_repairs.placeholders.get(number).cloned()
        {
            let lost = self.lost.get(id.as_str()).map(|(_, lost)| *lost);
            let parent = match lost {
                Some(lost) => {
                    let parent = lost.parent.clone().filter(|parent| *parent != id);
                    if let Some(parent) = &parent
                        && !self.is_known(parent)
                    {
                        self.add_placeholder(parent.clone(), position, Some(timestamp_ms));
                    }
                    parent
                }
                None => self.entry_before(position),
            };
            if let Some(placeholder) = self.link_repairs.placeholders.get_mut(number) {
                placeholder.parent = parent;
            }
            number += 1;
        }
    }

    fn entry_before(&self, position: usize) -> Option<EntryId> {
        let after = self
            .entries
            .partition_point(|link| link.position < position);
        let link = self.entries.get(after.checked_sub(1)?)?;
        Some(link.info.id.clone())
    }

    /// Finds cycles of entries and breaks each by removing one link.
    fn break_cycles(&mut self, findings: &mut Findings) {
        let mut visits: HashMap<LinkNode, VisitState> = HashMap::with_capacity(self.entries.len());
        for start in 0..self.entries.len() {
            let mut path = Vec::new();
            let mut next = Some(LinkNode::Entry(start));
            while let Some(node) = next {
                match visits.get(&node) {
                    Some(VisitState::Done) => break,
                    Some(VisitState::InProgress) => {
                        let begin = path.iter().position(|on_path| *on_path == node);
                        let cycle = begin.and_then(|begin| path.get(begin..));
                        self.break_cycle(cycle.unwrap_or_default(), findings);
                        break;
                    }
                    None => {}
                }
                visits.insert(node, VisitState::InProgress);
                path.push(node);
                next = self.parent(node);
            }
            visits.extend(path.into_iter().map(|node| (node, VisitState::Done)));
        }
    }

    fn parent(&self, node: LinkNode) -> Option<LinkNode> {
        let id = match node {
            LinkNode::Entry(at) => self.entries.get(at)?.info.parent.as_ref()?,
            LinkNode::Placeholder(at) => self.link_repairs.placeholders.get(at)?.parent.as_ref()?,
        };
        let entry = self.by_id.get(id.as_str()).copied().map(LinkNode::Entry);
        entry.or_else(|| {
            self.placeholder_by_id
                .get(id)
                .copied()
                .map(LinkNode::Placeholder)
        })
    }

    /// Breaks a cycle at a placeholder if it contains one (its parent is a guess), otherwise at a
    /// duplicate ID, otherwise at the first entry: in an append-only file, that is the one linking
    /// to a later entry.
    fn break_cycle(&mut self, cycle: &[LinkNode], findings: &mut Findings) {
        let guess = cycle.iter().find_map(|node| match node {
            LinkNode::Placeholder(number) => Some(*number),
            LinkNode::Entry(_) => None,
        });
        if let Some(placeholder) =
            guess.and_then(|guess| self.link_repairs.placeholders.get_mut(guess))
        {
            placeholder.parent = None;
            return;
        }
        let members = cycle.iter().filter_map(|node| match node {
            LinkNode::Entry(at) => self.entries.get(*at),
            LinkNode::Placeholder(_) => None,
        });
        let is_duplicate =
            |link: &&EntryLink<'_>| self.duplicates.contains_key(link.info.id.as_str());
        let duplicates = members.clone().filter(is_duplicate);
        let chosen = duplicates
            .max_by_key(|link| link.position)
            .or_else(|| members.min_by_key(|link| link.position));
        if let Some(link) = chosen {
            let id = link.info.id.clone();
            findings.add(Some(link.line), ProblemKind::ParentCycle { id });
            self.link_repairs.detached.push(link.position);
        }
    }
}
