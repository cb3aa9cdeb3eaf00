//! Append and load are inverse to each other, whatever is appended where.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append {
        body: usize,
        text: String,
    },
    Branch(prop::sample::Index),
    Reset,
    Summarize {
        to: Option<prop::sample::Index>,
        text: String,
    },
    Unlabel(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        8 => (0..12_usize, ".{0,12}").prop_map(|(body, text)| Step::Append { body, text }),
        2 => index().prop_map(Step::Branch),
        1 => Just(Step::Reset),
        1 => (prop::option::of(index()), ".{0,12}")
            .prop_map(|(to, text)| Step::Summarize { to, text }),
        1 => index().prop_map(Step::Unlabel),
    ];
    proptest::collection::vec(step, 0..40)
}

fn id_at(session: &Session, index: prop::sample::Index) -> Option<EntryId> {
    let records = session.index.records();
    (!records.is_empty()).then(|| records[index.index(records.len())].id.clone())
}

fn perform(session: &mut Session, step: Step) {
    match step {
        Step::Append { body, text } => {
            let target = session.leaf_id().cloned();
            let target = target.unwrap_or_else(|| EntryId::from("nobody"));
            let body = one_of_each(&target, &text).swap_remove(body);
            match session.append(body) {
                Ok(_) | Err(SessionError::UnknownEntry { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        Step::Branch(index) => {
            if let Some(id) = id_at(session, index) {
                session.branch(&id).unwrap();
            }
        }
        Step::Reset => session.reset_leaf(),
        Step::Summarize { to, text } => {
            let to = to.and_then(|index| id_at(session, index));
            let summary = crate::BranchSummary {
                summary: text,
                details: Some(json!({ "modifiedFiles": [] })),
                ..crate::BranchSummary::default()
            };
            session.branch_with_summary(to.as_ref(), summary).unwrap();
        }
        Step::Unlabel(index) => {
            if let Some(id) = id_at(session, index) {
                session.set_label(&id, None).unwrap();
            }
        }
    }
}

fn assert_same(one: &Session, other: &Session) {
    assert_eq!(entries(one), entries(other));
    assert_eq!(one.tree(), other.tree());
    assert_eq!(one.name(), other.name());
    assert_eq!(one.header(), other.header());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_appended_is_what_is_loaded(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        for step in steps {
            perform(&mut session, step);
        }
        session.append(assistant("the answer that saves it")).unwrap();
        let loaded = open(&disk, AccessMode::Write).unwrap();
        assert_same(&session, &loaded);
        prop_assert_eq!(session.leaf_id(), loaded.leaf_id());
        prop_assert_eq!(loaded.open_report(), &OpenReport::default());
    }

    #[test]
    fn a_session_may_be_closed_and_opened_at_any_time(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut whole = deferred(&disk);
        whole.append(assistant("saved from the start")).unwrap();
        for step in steps {
            let leaf = whole.leaf_id().cloned();
            whole = open(&disk, AccessMode::Write).unwrap();
            match leaf {
                Some(leaf) => whole.branch(&leaf).unwrap(),
                None => whole.reset_leaf(),
            }
            perform(&mut whole, step);
        }
        assert_same(&whole, &open(&disk, AccessMode::Read).unwrap());
    }

    #[test]
    fn a_session_in_memory_is_the_same_session(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        for step in steps {
            perform(&mut session, step);
        }
        let copy = Session::in_memory_from(
            Path::new("/project"),
            NewSession { id: Some("one".to_owned()), ..NewSession::default() },
            &entries(&session),
        ).unwrap();
        prop_assert_eq!(entries(&copy), entries(&session));
        prop_assert_eq!(copy.tree(), session.tree());
    }

    #[test]
    fn no_file_makes_it_panic(content in proptest::collection::vec(any::<u8>(), 0..400), cut in any::<prop::sample::Index>()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        session.append(assistant("answer")).unwrap();
        let mut damaged = disk.content(Path::new(PATH)).unwrap();
        let at = cut.index(damaged.len());
        damaged.splice(at..at, content);
        disk.put(Path::new(PATH), &damaged);
        if let Ok(mut session) = open(&disk, AccessMode::Write) {
            for entry in session.entries() {
                prop_assert!(entry.is_ok());
            }
            session.append(user("on")).unwrap();
            prop_assert!(open(&disk, AccessMode::Read).is_ok());
        }
    }
}
