//! Groups sessions into threads: forks below their origin, the most recently active thread first.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use pi_protocol::SessionInfo;

/// Maximum indentation depth.
const MAX_DEPTH: usize = 8;

/// A session with its tree lines.
#[derive(Clone, Debug)]
pub(super) struct ThreadedSession {
    pub(super) session: Arc<SessionInfo>,
    /// The tree lines in front of it.
    pub(super) branch: String,
}

impl ThreadedSession {
    /// Returns a session without tree lines.
    pub(super) fn unthreaded(session: Arc<SessionInfo>) -> Self {
        Self {
            session,
            branch: String::new(),
        }
    }
}

/// Orders sessions by thread.
pub(super) fn threads(sessions: &[Arc<SessionInfo>]) -> Vec<ThreadedSession> {
    let by_path: HashMap<&Path, usize> = sessions
        .iter()
        .enumerate()
        .map(|(index, session)| (session.path.as_path(), index))
        .collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); sessions.len()];
    let mut roots = Vec::new();
    for (index, session) in sessions.iter().enumerate() {
        let parent = session.parent_session.as_deref().map(Path::new);
        let parent = parent.and_then(|path| by_path.get(path).copied());
        match parent.filter(|parent| *parent != index) {
            Some(parent) => {
                if let Some(list) = children.get_mut(parent) {
                    list.push(index);
                }
            }
            None => roots.push(index),
        }
    }
    let order = preorder(&roots, &children, sessions.len());
    let latest = latest_activity(&order, &children, sessions);
    let most_recent_first = |list: &mut Vec<usize>| {
        pi_protocol::sort_by_key(list, |index| std::cmp::Reverse(latest.get(*index).copied()));
    };
    most_recent_first(&mut roots);
    children.iter_mut().for_each(most_recent_first);
    flatten(&roots, &children, sessions)
}

/// Returns every session reachable from a root, parents before children.
fn preorder(roots: &[usize], children: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
    while let Some(index) = stack.pop() {
        order.push(index);
        stack.extend(children.get(index).into_iter().flatten().rev());
    }
    order
}

fn latest_activity(
    order: &[usize],
    children: &[Vec<usize>],
    sessions: &[Arc<SessionInfo>],
) -> Vec<i64> {
    let mut latest: Vec<i64> = sessions.iter().map(|session| session.modified_ms).collect();
    for index in order.iter().rev() {
        let below = children.get(*index).into_iter().flatten();
        let newest = below.filter_map(|child| latest.get(*child).copied()).max();
        if let (Some(own), Some(newest)) = (latest.get_mut(*index), newest) {
            *own = newest.max(*own);
        }
    }
    latest
}

fn flatten(
    roots: &[usize],
    children: &[Vec<usize>],
    sessions: &[Arc<SessionInfo>],
) -> Vec<ThreadedSession> {
    struct ThreadNode {
        index: usize,
        depth: usize,
        /// Prefix for the tree lines of its children.
        lead: String,
        branch: String,
    }
    let mut placed = Vec::with_capacity(sessions.len());
    let mut seen = vec![false; sessions.len()];
    let root = |index: &usize| ThreadNode {
        index: *index,
        depth: 0,
        lead: String::new(),
        branch: String::new(),
    };
    let mut stack: Vec<ThreadNode> = roots.iter().rev().map(root).collect();
    while let Some(step) = stack.pop() {
        let Some(session) = sessions.get(step.index) else {
            continue;
        };
        if let Some(seen) = seen.get_mut(step.index) {
            *seen = true;
        }
        placed.push(ThreadedSession {
            session: Arc::clone(session),
            branch: step.branch,
        });
        let below = children.get(step.index).map_or(&[][..], Vec::as_slice);
        let deeper = step.depth < MAX_DEPTH;
        for (position, index) in below.iter().enumerate().rev() {
            let last = position + 1 == below.len();
            let branch = format!("{}{}", step.lead, if last { "└─ " } else { "├─ " });
            let mut lead = step.lead.clone();
            if deeper {
                lead.push_str(if last { "   " } else { "│  " });
            }
            stack.push(ThreadNode {
                index: *index,
                depth: step.depth + 1,
                lead,
                branch,
            });
        }
    }
    // Files that name each other as their origin have no root; they must be listed nevertheless.
    let unreachable = sessions.iter().zip(&seen).filter(|(_, seen)| !**seen);
    placed.extend(unreachable.map(|(session, _)| ThreadedSession::unthreaded(Arc::clone(session))));
    placed
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;

    use super::*;

    fn session(id: &str, parent: Option<&str>, modified_ms: i64) -> Arc<SessionInfo> {
        Arc::new(SessionInfo {
            path: PathBuf::from(format!("/{id}")),
            id: id.to_owned(),
            cwd: String::new(),
            name: None,
            parent_session: parent.map(|parent| format!("/{parent}")),
            created_ms: None,
            modified_ms,
            message_count: 0,
            first_message: None,
            text: String::new(),
        })
    }

    fn shown(sessions: &[Arc<SessionInfo>]) -> Vec<String> {
        let placed = threads(sessions);
        let line = |placed: &ThreadedSession| format!("{}{}", placed.branch, placed.session.id);
        placed.iter().map(line).collect()
    }

    #[test]
    fn a_fork_is_below_its_origin_and_moves_its_thread_up() {
        let sessions = [
            session("old", None, 1),
            session("new", None, 5),
            session("fork", Some("old"), 9),
            session("fork-2", Some("old"), 2),
            session("again", Some("fork"), 3),
            session("orphan", Some("gone"), 4),
        ];
        assert_eq!(
            shown(&sessions),
            [
                "old",
                "├─ fork",
                "│  └─ again",
                "└─ fork-2",
                "new",
                "orphan"
            ]
        );
    }

    #[test]
    fn cycles_and_long_chains_are_handled() {
        let circle = [session("a", Some("b"), 1), session("b", Some("a"), 2)];
        assert_eq!(shown(&circle), ["a", "b"]);
        assert_eq!(shown(&[session("self", Some("self"), 1)]), ["self"]);
        let chain: Vec<_> = (0..10_000)
            .map(|index: i64| {
                let parent = (index > 0).then(|| (index - 1).to_string());
                session(&index.to_string(), parent.as_deref(), index)
            })
            .collect();
        assert_eq!(shown(&chain).len(), 10_000);
    }
}
