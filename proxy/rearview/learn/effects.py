"""What became of the things that were said during a task: did the agent change its call, and did that then work?"""

from dataclasses import dataclass

from rearview.learn.model import CallRecord, Trajectory
from rearview_interceptors.api import Grade


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing said about `call`. None: nothing followed that could tell.

    After a hold or a hint the next call of the same tool tells. A repeated, a deliberately unwarned and a muted call
    ran as they were, so they tell themselves.
    """

    call: CallRecord
    changed: bool | None
    succeeded: bool | None


def effects_of(trajectory: Trajectory) -> list[Effect]:
    """Return the effects of one task in the order of its calls."""
    effects = []
    for index, call in enumerate(trajectory.steps):
        if call.said is None:
            continue
        if call.said.channel in ("hold", "hint"):
            following = next(
                (
                    each
                    for each in trajectory.steps[index + 1 :]
                    if (each.server, each.tool) == (call.server, call.tool)
                ),
                None,
            )
            changed = None if following is None else following.digest != call.digest
            effects.append(Effect(call, changed, _succeeded(following)))
        else:
            changed = False if call.said.channel == "repeat" else None
            effects.append(Effect(call, changed, _succeeded(call)))
    return effects


def _succeeded(call: CallRecord | None) -> bool | None:
    return None if call is None or call.grade is Grade.UNKNOWN else call.grade is Grade.OK
