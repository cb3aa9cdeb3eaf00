//! Appending and loading are inverse operations.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum SessionStep {
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

fn steps() -> impl Strategy<Value = Vec<SessionStep>> {
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        8 => (0..12_usize, ".{0,12}").prop_map(|(body, text)| SessionStep::Append { body, text }),
        2 => index().prop_map(SessionStep::Branch),
        1 => Just(SessionStep::Reset),
        1 => (prop::option::of(index()), ".{0,12}")
            .prop_map(|(to, text)| SessionStep::Summarize { to, text }),
        1 => index().prop_map(SessionStep::Unlabel),
    ];
    proptest::collection::vec(step, 0..40)
}

fn id_at(session: &Session, index: prop::sample::Index) -> Option<EntryId> {
    let records = session.entries.index.records();
    (!records.is_empty()).then(|| records[index.index(records.len())].id.clone())
}

fn apply_step(session: &mut Session, step: SessionStep) {
    match step {
        SessionStep::Append { body, text } => {
            let target = session.leaf_id().cloned();
            let target = target.unwrap_or_else(|| EntryId::from("missing"));
            let body = one_of_each(&target, &text).swap_remove(body);
            match session.append(body) {
                Ok(_) | Err(SessionError::UnknownEntry { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        SessionStep::Branch(index) => {
            if let Some(id) = id_at(session, index) {
                session.branch(&id).unwrap();
            }
        }
        SessionStep::Reset => session.reset_leaf(),
        SessionStep::Summarize { to, text } => {
            let to = to.and_then(|index| id_at(session, index));
            let summary = crate::BranchSummary {
                summary: text,
                details: Some(json!({ "modifiedFiles": [] })),
                ..crate::BranchSummary::default()
            };
            session.branch_with_summary(to.as_ref(), summary).unwrap();
        }
        SessionStep::Unlabel(index) => {
            if let Some(id) = id_at(session, index) {
                session.set_label(&id, None).unwrap();
            }
        }
    }
}

fn assert_same(one: &Session, other: &Session) {
    assert_eq!(entries(one), entries(other));
    assert_eq!(one.entries().tree(), other.entries().tree());
    assert_eq!(one.name(), other.name());
    assert_eq!(one.header(), other.header());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn appended_entries_are_loaded(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        for step in steps {
            apply_step(&mut session, step);
        }
        session.append(assistant("saves the session")).unwrap();
        let loaded = open(&disk, AccessMode::Write).unwrap();
        assert_same(&session, &loaded);
        prop_assert_eq!(session.leaf_id(), loaded.leaf_id());
        prop_assert_eq!(loaded.open_report(), &OpenReport::default());
    }

    #[test]
    fn a_session_can_be_reopened_at_any_time(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        session.append(assistant("saved from the start")).unwrap();
        for step in steps {
            let leaf = session.leaf_id().cloned();
            session = open(&disk, AccessMode::Write).unwrap();
            match leaf {
                Some(leaf) => session.branch(&leaf).unwrap(),
                None => session.reset_leaf(),
            }
            apply_step(&mut session, step);
        }
        assert_same(&session, &open(&disk, AccessMode::Read).unwrap());
    }

    #[test]
    fn a_session_in_memory_behaves_the_same(steps in steps()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        for step in steps {
            apply_step(&mut session, step);
        }
        let copy = Session::in_memory_from(
            Path::new("/project"),
            NewSession { id: Some("one".to_owned()), ..NewSession::default() },
            &entries(&session),
        ).unwrap();
        prop_assert_eq!(entries(&copy), entries(&session));
        prop_assert_eq!(copy.entries().tree(), session.entries().tree());
    }

    #[test]
    fn no_file_content_causes_a_panic(content in proptest::collection::vec(any::<u8>(), 0..400), cut in any::<prop::sample::Index>()) {
        let disk = FaultyDisk::default();
        let mut session = deferred(&disk);
        session.append(assistant("answer")).unwrap();
        let mut damaged = disk.content(Path::new(PATH)).unwrap();
        let at = cut.index(damaged.len());
        damaged.splice(at..at, content);
        disk.put(Path::new(PATH), &damaged);
        if let Ok(mut session) = open(&disk, AccessMode::Write) {
            for entry in session.entries().iter() {
                prop_assert!(entry.is_ok());
            }
            session.append(user("on")).unwrap();
            prop_assert!(open(&disk, AccessMode::Read).is_ok());
        }
    }
}
