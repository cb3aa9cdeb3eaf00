//! Keeps what clients were promised until it is stored: queued messages, and results of shell commands
//! during a run.

use pi_core::Machine;
use pi_session::{PendingRecord, SessionError};

use super::AgentSession;
use super::transcript::Transcript;

/// Brings the pending records of a session up to date. Once this returns, they survive a kill of the
/// process.
pub(super) fn keep(session: &AgentSession) -> Result<(), SessionError> {
    let mut writer = session.writer();
    // Read while no other change is made, so that an older list never replaces a newer one.
    let records = pending_records(&session.0.machine());
    if records.is_empty() && !session.0.transcript().may_have_pending() {
        // This runs after every message, and leaving the runtime's thread to write nothing is slow.
        return Ok(());
    }
    let keep = |transcript: &mut Transcript| transcript.set_pending(&records);
    match writer.write(keep) {
        // The session that replaced this one has no queue.
        Err(SessionError::Closed) => Ok(()),
        kept => kept,
    }
}

/// Like [`keep`]; an error is reported to clients, and the records are only kept in memory.
pub(super) fn keep_or_report(session: &AgentSession) {
    if let Err(error) = keep(session) {
        session.0.report("queue", None, &error);
    }
}

fn pending_records(machine: &Machine) -> Vec<PendingRecord> {
    let commands = machine
        .waiting_bash()
        .map(|message| PendingRecord::Command {
            message: message.clone(),
        });
    let queued = machine
        .queue()
        .unstored()
        .map(|queued| PendingRecord::Queued {
            delivery: queued.delivery,
            text: queued.text.clone(),
            message: queued.message.clone(),
        });
    commands.chain(queued).collect()
}

/// Puts the queued messages of a killed process back into the queue.
pub(super) fn restore_queue(machine: &mut Machine, records: Vec<PendingRecord>) {
    for record in records {
        if let PendingRecord::Queued {
            delivery,
            text,
            message,
        } = record
        {
            machine.queue_mut().push(message, text, delivery);
        }
    }
}
