"""Race on a page by gradio_client. Prints the leader during the race, and its table at the end."""

import sys

from gradio_client import Client

if len(sys.argv) != 3:
    sys.exit('usage: python examples/client.py http://127.0.0.1:7860 "red apple on sky clouds"')
url, prompt = sys.argv[1:]
job = Client(url, verbose=False).submit(
    prompt=prompt, seed=7, lanes=["ar", "sjd", "gsd:G=50"], api_name="/race"
)
for race in job:
    if not race["lanes"]:  # waiting in the queue
        continue
    leader = max(race["lanes"], key=lambda lane: lane["tokens"])
    print(
        f"{race['state']}: {leader['title']} leads with {leader['tokens']} tokens", file=sys.stderr
    )

race = job.result()  # the last one; raises if the page rejected the race
print(f"{'lane':12} {'passes':>6} {'seconds':>8} {'tokens/pass':>11}")
for lane in race["lanes"]:
    print(
        f"{lane['title']:12} {lane['passes']:6} {lane['seconds']:8.2f}"
        f" {lane['tokens_per_pass']:11.2f}"
    )
