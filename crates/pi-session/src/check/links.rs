//! How the entries of a file hang together, and what would join them again.
//!
//! Records are never rewritten to mend the tree. Where an entry that others follow is lost, an entry of
//! its own takes the lost one's id and place: a [`StandIn`], which says nothing to anybody. Only a
//! circle has to be cut, since every link in it is in a record that is there.

use std::collections::HashMap;

use super::problem::{Findings, ProblemKind};
use super::survey::{Content, EntryFacts, Piece};
use super::wreckage::LostFacts;
use crate::entry::EntryId;

/// An entry that takes the place of a lost one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandIn {
    /// The position of the piece it is written before.
    pub(crate) place: usize,
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: i64,
}

/// What joins the entries of a file.
#[derive(Debug, Default)]
pub(crate) struct Mending {
    pub(crate) stand_ins: Vec<StandIn>,
    /// The positions of the pieces that become roots.
    pub(crate) cut: Vec<usize>,
}

/// Checks how the entries hang together.
pub(crate) fn check(pieces: &[Piece], findings: &mut Findings) -> Mending {
    let mut links = Links::of(pieces, findings);
    links.find_missing_parents(findings);
    links.find_references(findings);
    links.join_stand_ins();
    links.cut_circles(findings);
    links.mending
}

struct Links<'pieces> {
    entries: Vec<Link<'pieces>>,
    /// Of several entries with one id, the last: that is how both programs find it.
    by_id: HashMap<&'pieces str, usize>,
    repeated: HashMap<&'pieces str, u64>,
    lost: HashMap<&'pieces str, (usize, &'pieces LostFacts)>,
    mending: Mending,
    stand_in_by_id: HashMap<EntryId, usize>,
}

struct Link<'pieces> {
    place: usize,
    line: u64,
    facts: &'pieces EntryFacts,
}

/// A place in the tree: one of the entries or of the stand-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Entry(usize),
    StandIn(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    UnderWay,
    Done,
}

impl<'pieces> Links<'pieces> {
    fn of(pieces: &'pieces [Piece], findings: &mut Findings) -> Self {
        let mut links = Self {
            entries: Vec::new(),
            by_id: HashMap::new(),
            repeated: HashMap::new(),
            lost: HashMap::new(),
            mending: Mending::default(),
            stand_in_by_id: HashMap::new(),
        };
        for (place, piece) in pieces.iter().enumerate() {
            match &piece.content {
                Content::Entry(facts) => {
                    let earlier = links.by_id.insert(facts.id.as_str(), links.entries.len());
                    if let Some(earlier) = earlier.and_then(|at| links.entries.get(at)) {
                        let (id, first_line) = (facts.id.clone(), earlier.line);
                        links.repeated.insert(facts.id.as_str(), first_line);
                        findings.add(
                            Some(piece.line),
                            ProblemKind::DuplicateId { id, first_line },
                        );
                    }
                    links.entries.push(Link {
                        place,
                        line: piece.line,
                        facts,
                    });
                }
                Content::Lost(Some(lost)) => {
                    links.lost.entry(lost.id.as_str()).or_insert((place, lost));
                }
                Content::Header
                | Content::EntryWithoutId
                | Content::Nothing
                | Content::Lost(None) => {}
            }
        }
        links
    }

    fn find_missing_parents(&mut self, findings: &mut Findings) {
        for at in 0..self.entries.len() {
            let Some(Link { place, line, facts }) = self.entries.get(at) else {
                return;
            };
            let Some(parent) = &facts.parent else {
                continue;
            };
            if self.by_id.contains_key(parent.as_str()) {
                continue;
            }
            let (id, parent) = (facts.id.clone(), parent.clone());
            let kind = ProblemKind::MissingParent {
                id,
                parent: parent.clone(),
            };
            findings.add(Some(*line), kind);
            let (place, timestamp_ms) = (*place, facts.timestamp_ms);
            self.stand_in(parent, place, timestamp_ms);
        }
    }

    /// Looks at what entries name beside their parents. What is lost and can be named gets its stand-in.
    fn find_references(&mut self, findings: &mut Findings) {
        for at in 0..self.entries.len() {
            let Some(Link { place, line, facts }) = self.entries.get(at) else {
                return;
            };
            let Some(reference) = &facts.reference else {
                continue;
            };
            let target = &reference.target;
            if self.is_known(target) {
                continue;
            }
            if self.lost.contains_key(target.as_str()) {
                let (target, place, timestamp_ms) = (target.clone(), *place, facts.timestamp_ms);
                self.stand_in(target, place, timestamp_ms);
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
        self.by_id.contains_key(id.as_str()) || self.stand_in_by_id.contains_key(id)
    }

    /// Plans a stand-in for a lost entry: where it stood if that is known, else before `place`.
    fn stand_in(&mut self, id: EntryId, place: usize, timestamp_ms: Option<i64>) {
        if self.stand_in_by_id.contains_key(&id) {
            return;
        }
        let (place, timestamp_ms) = match self.lost.get(id.as_str()) {
            Some((place, lost)) => (*place, lost.timestamp_ms.or(timestamp_ms)),
            None => (place, timestamp_ms),
        };
        let number = self.mending.stand_ins.len();
        self.stand_in_by_id.insert(id.clone(), number);
        self.mending.stand_ins.push(StandIn {
            place,
            id,
            parent: None,
            timestamp_ms: timestamp_ms.unwrap_or_default(),
        });
    }

    /// Finds what every stand-in follows: what the lost entry followed, or else the entry before it.
    fn join_stand_ins(&mut self) {
        let mut number = 0;
        // What a lost entry followed may be lost as well, so there may be more of them at each step.
        while let Some(StandIn {
            place,
            id,
            timestamp_ms,
            ..
        }) = self.mending.stand_ins.get(number).cloned()
        {
            let told = self.lost.get(id.as_str()).map(|(_, lost)| *lost);
            let parent = match told {
                Some(lost) => {
                    let parent = lost.parent.clone().filter(|parent| *parent != id);
                    if let Some(parent) = &parent
                        && !self.is_known(parent)
                    {
                        self.stand_in(parent.clone(), place, Some(timestamp_ms));
                    }
                    parent
                }
                None => self.entry_before(place),
            };
            if let Some(stand_in) = self.mending.stand_ins.get_mut(number) {
                stand_in.parent = parent;
            }
            number += 1;
        }
    }

    fn entry_before(&self, place: usize) -> Option<EntryId> {
        let behind = self.entries.partition_point(|link| link.place < place);
        let link = self.entries.get(behind.checked_sub(1)?)?;
        Some(link.facts.id.clone())
    }

    /// Finds entries that follow each other in a circle and cuts one link of it.
    fn cut_circles(&mut self, findings: &mut Findings) {
        let mut visits: HashMap<Node, Visit> = HashMap::with_capacity(self.entries.len());
        for start in 0..self.entries.len() {
            let mut path = Vec::new();
            let mut next = Some(Node::Entry(start));
            while let Some(node) = next {
                match visits.get(&node) {
                    Some(Visit::Done) => break,
                    Some(Visit::UnderWay) => {
                        let begin = path.iter().position(|on_path| *on_path == node);
                        let circle = begin.and_then(|begin| path.get(begin..));
                        self.cut(circle.unwrap_or_default(), findings);
                        break;
                    }
                    None => {}
                }
                visits.insert(node, Visit::UnderWay);
                path.push(node);
                next = self.parent(node);
            }
            visits.extend(path.into_iter().map(|node| (node, Visit::Done)));
        }
    }

    fn parent(&self, node: Node) -> Option<Node> {
        let id = match node {
            Node::Entry(at) => self.entries.get(at)?.facts.parent.as_ref()?,
            Node::StandIn(at) => self.mending.stand_ins.get(at)?.parent.as_ref()?,
        };
        let entry = self.by_id.get(id.as_str()).copied().map(Node::Entry);
        entry.or_else(|| self.stand_in_by_id.get(id).copied().map(Node::StandIn))
    }

    /// Cuts a circle at a guess of ours if there is one in it, else at an id that was used twice, else at
    /// the first entry: in a file that only ever grew, that is the one with a link to what came later.
    fn cut(&mut self, circle: &[Node], findings: &mut Findings) {
        let guess = circle.iter().find_map(|node| match node {
            Node::StandIn(number) => Some(*number),
            Node::Entry(_) => None,
        });
        if let Some(stand_in) = guess.and_then(|guess| self.mending.stand_ins.get_mut(guess)) {
            stand_in.parent = None;
            return;
        }
        let members = circle.iter().filter_map(|node| match node {
            Node::Entry(at) => self.entries.get(*at),
            Node::StandIn(_) => None,
        });
        let is_repeated = |link: &&Link<'_>| self.repeated.contains_key(link.facts.id.as_str());
        let repeated = members.clone().filter(is_repeated);
        let chosen = repeated
            .max_by_key(|link| link.place)
            .or_else(|| members.min_by_key(|link| link.place));
        if let Some(link) = chosen {
            let id = link.facts.id.clone();
            findings.add(Some(link.line), ProblemKind::ParentCycle { id });
            self.mending.cut.push(link.place);
        }
    }
}
