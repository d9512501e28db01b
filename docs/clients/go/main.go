// A small client of `sprintlog rpc` in Go, with the standard library alone.
//
// In a work tree with a sprint: go run main.go [PROGRAM WORD ...]
// It records a note, asks where the sprint stands, and follows what was recorded.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Client is a server that was started; it is used by one goroutine.
type Client struct {
	process *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
	number  int
	events  []Event
}

// Event is what `sprintlog log --json` prints of one; fields not needed are left out.
type Event struct {
	Position int             `json:"position"`
	Type     string          `json:"type"`
	Actor    string          `json:"actor"`
	Data     json.RawMessage `json:"data"`
}

// RequestError is a request that was refused, or that failed.
type RequestError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RequestError) Error() string { return e.Message }

// Params are the params of a request, by name.
type Params map[string]any

type message struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *RequestError   `json:"error"`
	Method string          `json:"method"`
	Params struct {
		Event Event `json:"event"`
	} `json:"params"`
}

// Start starts a server in the current folder, and agrees with it on the protocol.
func Start(actor string, program ...string) (*Client, error) {
	process := exec.Command(program[0], program[1:]...)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	client := &Client{process: process, input: input, output: bufio.NewReader(output)}
	return client, client.Ask("initialize", Params{"protocol": 1, "actor": actor}, nil)
}

// Ask sends a request, and reads until its answer is there. Events are kept meanwhile.
func (c *Client) Ask(method string, params Params, answer any) error {
	c.number++
	request := map[string]any{
		"jsonrpc": "2.0", "id": c.number, "method": method, "params": params,
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := c.input.Write(append(line, '\n')); err != nil {
		return err
	}
	for {
		found, err := c.next()
		if err != nil {
			return err
		}
		switch {
		case found.Method == "event":
			c.events = append(c.events, found.Params.Event)
		case found.ID == nil || *found.ID != c.number:
			continue
		case found.Error != nil:
			return found.Error
		case answer == nil:
			return nil
		default:
			return json.Unmarshal(found.Result, answer)
		}
	}
}

// Event returns the next event of what is followed, and waits for it.
func (c *Client) Event() (Event, error) {
	for len(c.events) == 0 {
		found, err := c.next()
		if err != nil {
			return Event{}, err
		}
		if found.Method == "event" {
			c.events = append(c.events, found.Params.Event)
		}
	}
	event := c.events[0]
	c.events = c.events[1:]
	return event, nil
}

// Close ends the server once all is answered.
func (c *Client) Close() error {
	if err := c.input.Close(); err != nil {
		return err
	}
	return c.process.Wait()
}

func (c *Client) next() (message, error) {
	var found message
	line, err := c.output.ReadBytes('\n')
	if err != nil {
		return found, fmt.Errorf("the server has ended: %w", err)
	}
	return found, json.Unmarshal(line, &found)
}

func run(program []string) error {
	client, err := Start("agent:go", program...)
	if err != nil {
		return err
	}
	var recorded struct {
		Position int `json:"position"`
	}
	note := Params{"type": "add-note", "text": "from Go"}
	// With a key it is there once, however often it is sent.
	if err := client.Ask("record", Params{"command": note, "key": "go-1"}, &recorded); err != nil {
		return err
	}
	var status struct {
		Sprint string `json:"sprint"`
		Status string `json:"status"`
	}
	if err := client.Ask("ask", Params{"question": "status"}, &status); err != nil {
		return err
	}
	fmt.Printf("%s is %s\n", status.Sprint, status.Status)
	wrong := Params{"type": "start-phase", "phase": "nowhere"}
	var refused *RequestError
	if err := client.Ask("record", Params{"command": wrong}, nil); errors.As(err, &refused) {
		fmt.Printf("refused (%d): %s\n", refused.Code, refused.Message)
	}
	if err := client.Ask("follow", Params{"after": recorded.Position - 1}, nil); err != nil {
		return err
	}
	event, err := client.Event()
	if err != nil {
		return err
	}
	fmt.Printf("%s by %s: %s\n", event.Type, event.Actor, event.Data)
	return client.Close()
}

func main() {
	program := os.Args[1:]
	if len(program) == 0 {
		program = []string{"sprintlog", "rpc"}
	}
	if err := run(program); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
