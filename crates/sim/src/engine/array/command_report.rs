//! Reports of commands, for observers that want them.

use flashtwin_ftl::{Cause, OpKind, Unit};
use flashtwin_nand::Ppn;

use super::super::accounts::{Charge, Command};
use super::op::Shared;
use super::{Accounts, Array, NONE, Observer, Op, Work};

impl Array {
    #[cold]
    #[inline(never)]
    pub(super) fn tell_command<O: Observer>(&self, unit: Unit, shared: Shared, accounts: &mut Accounts<O>) {
        let state = &self.units[unit];
        let Op { work, cause, request, .. } = self.ops[state.current];
        let next = |&slot: &u32| Some(self.next_of_command(slot)).filter(|&next| next != NONE);
        let slots = std::iter::successors(Some(state.current), next);
        let pages: Vec<Ppn> = slots.map(|slot| self.ops[slot].ppn).collect();
        let cycles_ns = shared.commands * self.timing.command_ns;
        let data_in_ns = cycles_ns + shared.pages * self.timing.transfer_ns;
        let (kind, array_ns, on_channel_ns) = match work {
            Work::OwnErase => (OpKind::Erase, self.timing.erase_ns, cycles_ns),
            Work::HostProgram | Work::OwnProgram | Work::Parity => {
                (OpKind::Program, self.timing.program_ns, data_in_ns)
            }
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead => {
                (OpKind::Read, shared.sense_ns, cycles_ns)
            }
        };
        // Of a read, the unit is busy until its data are out; the array is done before.
        let data_out_ns = if kind == OpKind::Read { shared.pages * self.timing.transfer_ns } else { 0 };
        let channel_end_ns = self.buses[state.channel].free_ns;
        let is_hosts = matches!(work, Work::HostRead | Work::HostProgram) && request != NONE;
        accounts.observer.command_begins(&Command {
            unit,
            channel: state.channel,
            name: name(work, cause, state.holder),
            kind,
            holder: state.holder,
            cause,
            pages: &pages,
            request: is_hosts.then_some(request),
            begin_ns: self.now_ns,
            end_ns: state.busy_until_ns - data_out_ns,
            array_ns,
            channel_ns: (channel_end_ns - on_channel_ns, channel_end_ns),
        });
    }
}

fn name(work: Work, cause: Cause, holder: Charge) -> &'static str {
    match (work, holder) {
        (Work::HostRead, _) => "host read",
        (Work::ReadBeforeWrite, _) => "old page read",
        (Work::HostProgram, _) => "host program",
        (Work::Parity, _) => "parity program",
        (Work::OwnErase, _) => "erase",
        (Work::OwnRead, Charge::GcRead) => "GC read",
        (Work::OwnRead, Charge::Copy) => "copy read",
        (Work::OwnRead, Charge::Comparison) => "comparison read",
        (Work::OwnRead | Work::TableRead, _) => "table read",
        (Work::OwnProgram, _) if cause == Cause::Padding => "padding program",
        (Work::OwnProgram, Charge::GcProgram) => "GC program",
        (Work::OwnProgram, Charge::Copy) => "copy program",
        (Work::OwnProgram, _) => "table program",
    }
}

#[cfg(test)]
mod tests {
    use super::super::op::holder;
    use super::*;

    #[test]
    fn the_controllers_operations_are_named_by_their_cause() {
        let named = |work, cause| name(work, cause, holder(work, cause));
        for (cause, read, program) in [
            (Cause::Gc, "GC read", "GC program"),
            (Cause::WearLevelling, "GC read", "GC program"),
            (Cause::Replica, "copy read", "copy program"),
            (Cause::Metadata, "table read", "table program"),
        ] {
            assert_eq!([Work::OwnRead, Work::OwnProgram].map(|work| named(work, cause)), [read, program]);
            assert_eq!(named(Work::OwnErase, cause), "erase");
        }
        assert_eq!(named(Work::OwnRead, Cause::Verify), "comparison read");
        assert_eq!(named(Work::OwnProgram, Cause::Padding), "padding program");
        assert_eq!(named(Work::TableRead, Cause::Host), "table read");
    }
}
