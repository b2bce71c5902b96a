import { useEffect, useState } from "preact/hooks";
import { getMembers, messageOf, revoke } from "./api.ts";
import { Confirm } from "./dialog.tsx";
import { formatMoment } from "./format.ts";
import { InviteDialog } from "./invite_dialog.tsx";
import { StateMark } from "./state_mark.tsx";
import type { Member } from "./types.ts";

export function MembersView({ coordinator }: { coordinator: string }) {
  const [members, setMembers] = useState<Member[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isInviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const refresh = () =>
    getMembers().then(
      (answer) => {
        setMembers(answer.members);
        setProblem(null);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  useEffect(() => {
    void refresh();
  }, []);
  const close = () => {
    setInviting(false);
    void refresh();
  };
  return (
    <section class="panel">
      <div class="title">
        <h1>Members</h1>
        <button type="button" class="main" onClick={() => setInviting(true)}>
          Invite
        </button>
      </div>
      {problem !== null && (
        <p class="problem" role="status">
          {problem}
        </p>
      )}
      {members !== null && <MemberTable members={members} revoke={setLeaving} />}
      {isInviting && <InviteDialog coordinator={coordinator} close={close} />}
      {leaving !== null && <RevokeDialog member={leaving} close={() => setLeaving(null)} done={refresh} />}
    </section>
  );
}

/** An invitation has no name of its own unless it is for a certain member. */
function nameOf(member: Member): string {
  return member.name || `(any ${member.role})`;
}

function verbFor(member: Member): string {
  return member.state === "invited" ? "Withdraw" : "Revoke";
}

function moment(seconds: number): string {
  return seconds === 0 ? "–" : formatMoment(new Date(seconds * 1000), new Date());
}

function MemberTable({ members, revoke }: { members: Member[]; revoke: (member: Member) => void }) {
  return (
    <table class="members cards">
      <thead>
        <tr>
          {["Name", "Role", "State", "Since", "Until", ""].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {members.map((member) => (
          <tr key={`${member.name} ${member.role} ${member.invitation} ${member.state}`}>
            <th scope="row">{nameOf(member)}</th>
            <td data-name="Role">{member.role}</td>
            <td data-name="State">
              <StateMark state={member.state} />
              {member.state === "invited" && <span class="muted"> {member.uses_left} left</span>}
            </td>
            <td data-name="Since">{moment(member.since)}</td>
            <td data-name="Until">{moment(member.expires)}</td>
            <td>
              {member.state !== "revoked" && member.role !== "coordinator" && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`${verbFor(member)} ${nameOf(member)}`}
                  onClick={() => revoke(member)}
                >
                  {verbFor(member)}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RevokeDialog(props: { member: Member; close: () => void; done: () => Promise<void> }) {
  const { member } = props;
  const isInvitation = member.state === "invited";
  const perform = async () => {
    await revoke(isInvitation ? member.invitation : member.name);
    await props.done();
  };
  return (
    <Confirm
      title={isInvitation ? "Withdraw the invitation?" : `Revoke ${member.name}?`}
      close={props.close}
      action={verbFor(member)}
      perform={perform}
      question={
        isInvitation
          ? "Nobody can join with its join string any more."
          : `${member.name} is thrown out at once, and can come back only with a new invitation.`
      }
    />
  );
}
