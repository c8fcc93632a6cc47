"""An agent that asks before it runs a tool: allow, deny, or change the arguments.

Prints:
    Bank_Transfer {"to":"Ann","amount":20}: allowed
    Bank_Transfer {"to":"Bob","amount":900}: limited to 100
    Bank_Transfer {"to":"Eve","amount":20}: denied
    sent: Ann 20, Bob 100
"""

from toolwire import Agent, Allow, Call, Deny, Edit, tool
from toolwire.types import Decision, Runnable

SENT: list[str] = []


@tool(id="Bank.Transfer@1.0.0")
def transfer(to: str, amount: int) -> str:
    """Transfer money.

    Args:
        to: The recipient.
        amount: The amount in dollars.
    """
    SENT.append(f"{to} {amount}")
    return "done"


def approve(call: Call, tool: Runnable) -> Decision:
    arguments = call.input
    assert isinstance(arguments, dict) and isinstance(arguments["amount"], int)
    if arguments["to"] == "Eve":
        print(f"{call.name} {call.arguments}: denied")
        return Deny("transfers to Eve are not allowed")
    if arguments["amount"] > 100:
        print(f"{call.name} {call.arguments}: limited to 100")
        return Edit({**arguments, "amount": 100})
    print(f"{call.name} {call.arguments}: allowed")
    return Allow()


agent = Agent("demo:", transfer, approve=approve)
people = {"Ann": 20, "Bob": 900, "Eve": 20}
calls = [
    f'[[call Bank_Transfer {{"to": "{to}", "amount": {amount}}}]]' for to, amount in people.items()
]
agent.run_sync(" ".join(calls))  # [[call …]] tells the offline model what to call
print("sent:", ", ".join(SENT))
